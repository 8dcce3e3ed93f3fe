#include "kernels/cuda/memory_plan.h"

#include <algorithm>
#include <cstdio>

#include "kernels/cuda/decoder_weights.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/encoder_weights.h"
#include "models/error.h"

namespace sotto::cuda {
namespace {

std::string megabytes(int64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

}  // namespace

MemoryPlan memory_plan(const DecoderPlan& decoder, int windows) {
  const Dims& dims = decoder.dims;
  MemoryPlan plan = {decoder.slots, windows};
  plan.encoder_weights = encoder_weights_bytes(dims, decoder.type == WeightType::i8);
  plan.decoder_weights = decoder_weights_bytes(dims, decoder.type);
  plan.encoder_buffers = encoder_buffers_bytes(dims, windows);
  plan.decoder_buffers = decoder_buffers_bytes(decoder);
  plan.cross = int64_t{decoder.slots} * dims.decoder_layers * dims.heads * kHeadSize * 2;
  plan.encoded = int64_t{decoder.slots} * kAudioContext * dims.width * 2;
  return plan;
}

MemoryPlan fit_memory(DecoderPlan decoder, int64_t free, const std::string& model, const std::string& device) {
  const int wanted = std::min(decoder.slots, kMaxEncodeWindows);
  for (;;) {
    for (int windows = std::min(decoder.slots, wanted); windows >= 1; windows--) {
      const MemoryPlan plan = memory_plan(decoder, windows);
      if (plan.total() + kReserve <= free) return plan;
    }
    if (decoder.slots == 1) break;
    decoder.slots--;
  }
  throw Error(model + " needs " + megabytes(memory_plan(decoder, 1).total() + kReserve) + " on " + device +
              " for one window with " + std::to_string(decoder.max_rows) + " rows, and " + megabytes(free) +
              " are free: use a smaller model, a smaller beam, or --device cpu");
}

std::string describe(const MemoryPlan& plan) {
  const auto line = [](const char* what, int64_t bytes) {
    char text[96];
    std::snprintf(text, sizeof text, "  %-44s %10.1f MB\n", what, double(bytes) / 1e6);
    return std::string(text);
  };
  const std::string of = plan.slots == 1 ? "1 window:\n"
                                         : std::to_string(plan.slots) + " windows at once, " +
                                               std::to_string(plan.windows) + " of them encoded together:\n";
  return "memory for " + of + line("encoder's weights", plan.encoder_weights) +
         line("decoder's weights", plan.decoder_weights) + line("encoder's buffers", plan.encoder_buffers) +
         line("decoder's buffers, with its keys and values", plan.decoder_buffers) +
         line("cross keys and values", 2 * plan.cross) + line("encoder's output", plan.encoded) +
         line("all", plan.total());
}

}  // namespace sotto::cuda
