// All memory of the CUDA engine, sized when it is opened: nothing is allocated afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/decode_step.h"
#include "kernels/cuda/encoder_kernels.h"
#include "models/dims.h"

namespace sotto::cuda {

struct MemoryPlan {
  int slots;    // windows that can be decoded at once
  int windows;  // that are encoded at once
  int64_t encoder_weights, decoder_weights;
  int64_t encoder_buffers, decoder_buffers;  // what the passes write and read
  int64_t cross;    // keys or values of all slots, half [slots][layers][heads][kRows][64]; there are two
  int64_t encoded;  // half [slots][1500][width]

  int64_t total() const { return encoder_weights + decoder_weights + encoder_buffers + decoder_buffers + 2 * cross + encoded; }
};

constexpr int kMaxEncodeWindows = 8;                  // more fill no chip better
constexpr int64_t kReserve = int64_t{256} << 20;  // bytes left to the driver: its context, graphs, and the screen

MemoryPlan memory_plan(const DecoderPlan& decoder, int windows);

// What fits into `free` bytes: first fewer windows are encoded at once, then there are fewer slots. Throws Error, with the
// numbers, if one window doesn't fit.
MemoryPlan fit_memory(DecoderPlan decoder, int64_t free, const std::string& model, const std::string& device);

std::string describe(const MemoryPlan& plan);  // a table for people

}  // namespace sotto::cuda
