// Every kernel of the CUDA engine by itself: its time on the GPU at hand beside the least that its stage can take there.
//   cuda_times MODEL [--batch N,N…] [--beam-size N] [--precision f16|bf16|int8] [--simulate]
// The weights are not the model's, only their sizes are. --simulate runs one layer on the executor, whose times mean nothing:
// it shows that this program works.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/decode_step.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/memory_plan.h"
#include "kernels/cuda/roofline.h"
#include "models/catalog.h"
#include "models/error.h"
#include "models/fetch.h"
#include "models/weights.h"

namespace sotto::cuda {
namespace {

constexpr int kPast = 128;  // positions behind each row

struct Timed {
  double seconds = 0;
  int launches = 0;
};

class Times {
 public:
  Times(const Driver& driver, std::span<const Image> images, int rounds)
      : device_(driver, 0, images), memory_(device_), rounds_(rounds), flush_bytes_(rounds > 1 ? 256 << 20 : 1 << 20) {
    for (Handle& event : events_) device_.check(driver.create_event(&event, 0), "an event could not be made");
  }
  ~Times() {
    for (Handle event : events_) device_.driver().destroy_event(event);
  }

  void measure(const Dims& dims, WeightType type, int windows, int rows) {
    memory_.clear();
    flush_ = memory_.take(flush_bytes_, "times", true);
    std::printf("\n%d %s, %d rows each, on %s (sm_%d)\n%-36s %8s %10s %10s %7s  %s\n", windows,
                windows == 1 ? "window" : "windows", rows, device_.name().c_str(), device_.chip(), "stage, kernel",
                "launches", "us", "least us", "share", "bound by");
    const int sms = device_.attribute(kMultiprocessors);
    report("encode", encoder(dims, type, sms, windows), encode_work(dims, type, sms, windows));
    report("step", step(dims, type, windows, rows), step_work(dims, type, windows, rows, kPast));
  }

 private:
  std::byte* take(int64_t bytes) {  // small numbers, as halves and as floats
    std::byte* memory = memory_.take(bytes, "times", false);
    device_.set_bytes(reinterpret_cast<DevicePointer>(memory), 0x11, bytes);
    return memory;
  }
  std::byte* zeros(int64_t bytes) { return memory_.take(bytes, "times", true); }

  std::vector<Launch> encoder(const Dims& dims, WeightType type, int sms, int windows) {
    const bool bytes = type == WeightType::i8;
    const EncoderWeights weights = encoder_weights(dims, take(encoder_weights_bytes(dims, bytes)), bytes);
    const EncoderBuffers buffers = encoder_buffers(dims, windows, zeros(encoder_buffers_bytes(dims, windows)));
    const int64_t cross = int64_t{windows} * dims.decoder_layers * dims.heads * kHeadSize * 2;
    cross_k_ = zeros(cross);
    cross_v_ = zeros(cross);
    auto* const mel = static_cast<float*>(memory_.take_pinned(int64_t{windows} * kMelFrames * dims.mel_bins * 4));
    auto* const slots = static_cast<int32_t*>(memory_.take_pinned(windows * 4));
    for (int i = 0; i < windows; i++) slots[i] = i;
    return encode_launches({dims, type == WeightType::bf16 ? Half::bf16 : Half::f16, sms, windows,
                            reinterpret_cast<const float*>(device_.device_address(mel)),
                            reinterpret_cast<const int32_t*>(device_.device_address(slots)), cross_k_, cross_v_, bytes},
                           weights, buffers);
  }

  // Of the rows of a table that is written once: what ends a step changes its slots, so it is left out.
  std::vector<Launch> step(const Dims& dims, WeightType type, int windows, int rows) {
    const DecoderPlan plan = {dims, type, windows, rows, 1};
    Decoder decoder = {plan, decoder_weights(dims, type, take(decoder_weights_bytes(dims, type))),
                       decoder_buffers(plan, zeros(decoder_buffers_bytes(plan))), cross_k_, cross_v_};
    StepTable table = {};
    for (int slot = 0; slot < windows; slot++) {
      for (int row = 0; row < rows && table.n_rows < kMaxStepRows; row++) {
        if (row % kGroupRows == 0) table.group[table.n_groups++] = {slot, table.n_rows, 0};
        table.group[table.n_groups - 1].n_rows++;
        table.row[table.n_rows++] = {slot, row, kPast, 1000};
      }
    }
    device_.copy_to_device(reinterpret_cast<DevicePointer>(decoder.buffers.table), &table, sizeof table);
    device_.synchronize();
    std::vector<Launch> launches = prompt_launches(decoder, row_class(table.n_rows), table.n_groups, {});
    for (const Launch& launch : step_launches(decoder, {0, windows, row_class(table.n_rows), table.n_groups}, nullptr))
      if (launch.kernel.starts_with("logits")) launches.push_back(launch);
    return launches;
  }

  // Seconds of all launches of one kernel in a pass, the least of some rounds. Each layer has its own weights, and
  // before each round other bytes fill the second cache, so weights come from memory.
  double seconds_of(const std::vector<const Launch*>& launches) {
    double least = 1e9;
    for (int round = 0; round < rounds_; round++) {
      const Driver& driver = device_.driver();
      device_.set_bytes(reinterpret_cast<DevicePointer>(flush_), static_cast<unsigned char>(round), flush_bytes_);
      device_.check(driver.record(events_[0], device_.stream()), "an event could not be recorded");
      for (const Launch* launch : launches) {
        device_.launch_bytes(launch->kernel.c_str(), launch->shape, launch->args.data());
      }
      device_.check(driver.record(events_[1], device_.stream()), "an event could not be recorded");
      device_.synchronize();
      float ms = 0;
      device_.check(driver.elapsed_ms(&ms, events_[0], events_[1]), "a time could not be taken");
      least = std::min(least, ms / 1e3);
    }
    return least;
  }

  void report(const char* pass, const std::vector<Launch>& launches, const std::vector<StageWork>& work) {
    std::map<std::string, std::vector<const Launch*>> launches_of;
    for (const Launch& launch : launches) launches_of[launch.kernel].push_back(&launch);
    std::map<std::string, Timed> kernels, stages;
    for (const auto& [name, some] : launches_of) {
      const Timed timed = {seconds_of(some), static_cast<int>(some.size())};
      kernels[name] = timed;
      Timed& stage = stages[stage_of(name)];
      stage.seconds += timed.seconds;
      stage.launches += timed.launches;
    }
    const Chip* chip = chip_of(device_.name());
    double seconds = 0, least_seconds = 0;
    for (const StageWork& stage : work) {
      const Timed& timed = stages[stage.name];
      if (timed.launches == 0) continue;
      const Least least = chip ? least_time(stage, *chip) : Least{"unknown chip", 0};
      std::printf("%-36s %8d %10.1f %10.1f %6.0f%%  %s\n", stage.name, timed.launches, timed.seconds * 1e6,
                  least.seconds * 1e6, 100 * least.seconds / timed.seconds, least.limit);
      for (const auto& [name, kernel] : kernels) {
        if (std::string(stage_of(name)) == stage.name) {
          std::printf("  %-34s %8d %10.1f\n", name.c_str(), kernel.launches, kernel.seconds * 1e6);
        }
      }
      seconds += timed.seconds;
      least_seconds += least.seconds;
    }
    std::printf("%-36s %8zu %10.1f %10.1f %6.0f%%\n", pass, launches.size(), seconds * 1e6, least_seconds * 1e6,
                100 * least_seconds / seconds);
  }

  Device device_;
  DeviceMemory memory_;
  const int rounds_;
  const size_t flush_bytes_;
  std::byte* flush_ = nullptr;
  Handle events_[2] = {};
  void *cross_k_ = nullptr, *cross_v_ = nullptr;
};

int run(int argc, char** argv) {
  std::string model, precision = "f16";
  std::vector<int> batches = {1, 8};
  int beam_size = 5;
  bool simulate = false;
  CLI::App app("times of the CUDA engine's kernels");
  app.add_option("model", model)->required();
  app.add_option("--batch", batches)->delimiter(',')->check(CLI::Range(1, kMaxEncodeWindows));
  app.add_option("--beam-size", beam_size)->check(CLI::Range(1, 8));
  app.add_option("--precision", precision)->check(CLI::IsMember({"f16", "bf16", "int8"}));
  app.add_flag("--simulate", simulate);
  CLI11_PARSE(app, argc, argv);
  std::string why_not = "this program was linked without a simulated GPU";
  const Driver* driver = simulate ? simulated_driver : open_driver(why_not);
  if (!driver) throw Error(why_not);
  FetchOptions fetch;
  fetch.offline = true;
  const auto weights = open_weights(locate_model(model, fetch));
  std::printf("%s at %s, every kernel by itself\n", weights->name.c_str(), precision.c_str());
  Dims dims = weights->dims;
  if (simulate) dims.encoder_layers = dims.decoder_layers = 1;
  Times times(*driver, simulate ? simulated_images : embedded_images(), simulate ? 1 : 20);
  const WeightType type = precision == "int8"   ? WeightType::i8
                          : precision == "bf16" ? WeightType::bf16
                                                : WeightType::f16;
  for (const int windows : batches) times.measure(dims, type, windows, beam_size);
  return 0;
}

}  // namespace
}  // namespace sotto::cuda

int main(int argc, char** argv) {
  try {
    return sotto::cuda::run(argc, argv);
  } catch (const sotto::Error& error) {
    std::fprintf(stderr, "cuda_times: %s\n", error.what());
    return 1;
  }
}
