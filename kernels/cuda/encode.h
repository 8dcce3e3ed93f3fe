// The encoder as a list of launches: log-mel windows in, cross-attention keys and values out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/encoder_weights.h"
#include "kernels/cuda/launch.h"
#include "models/dims.h"

namespace sotto::cuda {

// One kernel to start, after the one before it in the list has ended.
struct Launch {
  std::string kernel;
  LaunchShape shape;
  std::vector<std::byte> args;  // the kernel's one argument
};

template <class Args>
Launch launch_of(std::string kernel, const LaunchShape& shape, const Args& args) {
  Launch launch = {std::move(kernel), shape, std::vector<std::byte>(sizeof(Args))};
  std::memcpy(launch.args.data(), &args, sizeof(Args));
  return launch;
}

// Scratch memory of `windows` windows, in the order of shapes.h; qkv and hidden share theirs. In bytes, y and hidden take
// the first half of their memory, and their scales [columns / 128][rows] begin at the second.
struct EncoderBuffers {
  std::byte *mel, *conv1, *y, *qkv, *hidden;  // half
  float* x;
};
EncoderBuffers encoder_buffers(const Dims& dims, int windows, std::byte* base);
int64_t encoder_buffers_bytes(const Dims& dims, int windows);  // must be zeros before the first encode

struct EncodeTask {
  Dims dims;
  Half half;
  int sms;               // of the chip
  int windows;           // at most as many as the buffers are for
  const float* mel;      // [windows][3000][mel_bins], the host's memory if it is mapped
  const int32_t* slots;  // [windows], on the device
  void *cross_k, *cross_v;  // half [slots][decoder layers][heads][kRows][64]
  bool bytes = false;       // qkv, fc1 and fc2 of the weights are int8, and so are those products
};

// After the last launch, buffers.y holds the encoder's output, half [windows][kRows][width].
std::vector<Launch> encode_launches(const EncodeTask& task, const EncoderWeights& weights,
                                    const EncoderBuffers& buffers);

}  // namespace sotto::cuda
