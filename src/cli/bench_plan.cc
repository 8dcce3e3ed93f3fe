#include "src/cli/bench_plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/cuda/memory_plan.h"
#include "kernels/cuda/roofline.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kPast = 128;  // positions behind a row, as in the middle of a window of speech

nlohmann::ordered_json stages_as_json(const cuda::Chip& chip, const std::vector<cuda::StageWork>& stages) {
  nlohmann::ordered_json list;
  double seconds = 0;
  int launches = 0;
  for (const cuda::StageWork& stage : stages) {
    const cuda::Least least = cuda::least_time(stage, chip);
    list.push_back({{"name", stage.name}, {"kernels", stage.launches}, {"operations", stage.half_ops + stage.byte_ops},
                    {"memory_bytes", stage.bytes}, {"cache_bytes", stage.asked}, {"seconds", least.seconds},
                    {"bound_by", least.limit}});
    seconds += least.seconds;
    launches += stage.launches;
  }
  return {{"stages", list}, {"kernels", launches}, {"seconds", seconds},
          {"seconds_with_gaps", seconds + launches * cuda::kGapSeconds}};
}

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

void bench_plan(const std::string& name, const PlannedModel& model, const NetworkOptions& options, bool as_json) {
  const cuda::Chip* chip = cuda::find_chip(name);
  CHECK_INVARIANT(chip != nullptr);
  const auto type = options.precision == "int8"   ? cuda::WeightType::i8
                    : options.precision == "bf16" ? cuda::WeightType::bf16
                                                  : cuda::WeightType::f16;
  const cuda::DecoderPlan decoder = {model.dims, type, options.slots, options.max_rows, model.alignment_heads};
  const cuda::MemoryPlan memory = cuda::fit_memory(decoder, chip->memory, model.name, chip->title);
  const auto encoding = cuda::encode_work(model.dims, type, chip->sms, memory.windows);
  const auto stepping = cuda::step_work(model.dims, type, memory.slots, options.max_rows, kPast);
  const char* const precision = type == cuda::WeightType::i8 ? "int8" : type == cuda::WeightType::bf16 ? "bf16" : "f16";
  if (as_json) {
    const nlohmann::ordered_json plan = {
        {"model", model.name}, {"chip", chip->name}, {"precision", precision}, {"f16_operations_per_second", chip->half_ops},
        {"memory_bytes_per_second", chip->read}, {"memory_bytes", memory.total()}, {"windows", memory.windows},
        {"slots", memory.slots}, {"beams", options.max_rows}, {"positions", kPast},
        {"encode", stages_as_json(*chip, encoding)}, {"step", stages_as_json(*chip, stepping)}};
    std::puts(plan.dump(2).c_str());
    return;
  }
  std::printf("%s in %s on %s (%d SMs, %.0f T/s f16, %.2f TB/s): predicted, not measured\n\n", model.name.c_str(), precision,
              chip->title, chip->sms, chip->half_ops / 1e12, chip->read / 1e12);
  if (memory.slots < options.slots) {
    std::printf("of %d windows at once %d fit into its memory\n", options.slots, memory.slots);
  }
  std::fputs(cuda::describe(memory).c_str(), stdout);
  const std::string windows = std::to_string(memory.windows) + (memory.windows == 1 ? " window" : " windows");
  print_stages(*chip, ("encoding " + windows).c_str(), encoding);
  const std::string step = "a step of " + std::to_string(memory.slots) + " x " + std::to_string(options.max_rows) + " rows";
  print_stages(*chip, step.c_str(), stepping);
}

}  // namespace sotto
