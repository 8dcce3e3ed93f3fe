#include "src/cli/bench_plan.h"

#include <cstdio>
#include <vector>

#include "kernels/cuda/memory_plan.h"
#include "kernels/cuda/roofline.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kPast = 128;  // positions behind a row, as in the middle of a window of speech

void print_stages(const cuda::Chip& chip, const char* title, const std::vector<cuda::StageWork>& stages) {
  std::printf("\n%-32s %8s %10s %10s %10s %9s  %s\n", title, "kernels", "Gop", "MB memory", "MB cache", "us", "bound by");
  double seconds = 0;
  int launches = 0;
  for (const cuda::StageWork& stage : stages) {
    const cuda::Least least = cuda::least_time(stage, chip);
    std::printf("  %-30s %8d %10.2f %10.2f %10.2f %9.1f  %s\n", stage.name, stage.launches,
                (stage.half_ops + stage.byte_ops) / 1e9, stage.bytes / 1e6, stage.asked / 1e6, least.seconds * 1e6,
                least.limit);
    seconds += least.seconds;
    launches += stage.launches;
  }
  std::printf("  %-30s %8d %32s %9.1f\n  %-72s %9.1f\n", "all, at the limit", launches, "", seconds * 1e6,
              "with 1.3 us between kernels", (seconds + launches * cuda::kGapSeconds) * 1e6);
}

}  // namespace

void bench_plan(const std::string& name, const Weights& weights, const NetworkOptions& options) {
  const cuda::Chip* chip = cuda::find_chip(name);
  if (!chip) throw Error("--plan knows no chip \"" + name + "\": use one of " + cuda::known_chips());
  const auto type = options.precision == "int8"   ? cuda::WeightType::i8
                    : options.precision == "bf16" ? cuda::WeightType::bf16
                                                  : cuda::WeightType::f16;
  const cuda::DecoderPlan decoder = {weights.dims, type, options.slots, options.max_rows,
                                     static_cast<int>(weights.alignment_heads.size())};
  const cuda::MemoryPlan memory = cuda::fit_memory(decoder, chip->memory, weights.name, chip->title);
  std::printf("%s on %s (%d SMs, %.0f T/s f16, %.2f TB/s): predicted, not measured\n\n%s", weights.name.c_str(), chip->title,
              chip->sms, chip->half_ops / 1e12, chip->read / 1e12, cuda::describe(memory).c_str());
  const std::string windows = std::to_string(memory.windows) + (memory.windows == 1 ? " window" : " windows");
  print_stages(*chip, ("encoding " + windows).c_str(), cuda::encode_work(weights.dims, type, chip->sms, memory.windows));
  const std::string step = "a step of " + std::to_string(memory.slots) + " x " + std::to_string(options.max_rows) + " rows";
  print_stages(*chip, step.c_str(), cuda::step_work(weights.dims, type, memory.slots, options.max_rows, kPast));
}

}  // namespace sotto
