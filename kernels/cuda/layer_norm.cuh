// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias of each row of the residual stream, as the next product's operand.
//
// Contract. x f32 [m][width], 16-byte aligned, y half [m][width]; one warp for each row, four to a block; grid:
// ceil(m / 4). A row is read once into registers: the variance is that of the values about their mean. y in bytes has a
// scale for each 128 values; these alone are stored apart, a sector for each (8 % of y's bytes).
//
// Roofline. Bytes: m width (4 + 2), at large-v3 and one window 11.6 MB, mostly of the second cache, where the product
// before has left x: 7.4 us from memory on A100 (1.56 TB/s), 11.5 us on RTX 4090 (1.01), 2.4 us on H200 (4.8).
// Predicted share, not measured: 80 % of memory's rate at eight windows, launch-bound below two.
#pragma once

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/quantise.cuh"

namespace sotto::cuda {

template <class T, int kWidth>
DEVICE void layer_norm(const LayerNormArgs& args) {
  constexpr int kParts = kWidth / 128;  // a lane has four neighbouring values of each 128
  const int row = block_x() * (kLayerNormThreads / 32) + warp();
  if (row >= args.m) return;

  const auto* x = reinterpret_cast<const f32x4*>(args.x + int64_t{row} * kWidth) + lane();
  f32x4 part[kParts];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kParts; i++) part[i] = load(x + i * 32);
#pragma unroll
  for (int i = 0; i < kParts; i++) {
#pragma unroll
    for (int j = 0; j < 4; j++) sum += part[i].v[j];
  }
  const float mean = warp_sum(sum) / kWidth;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kParts; i++) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      part[i].v[j] -= mean;
      squares += part[i].v[j] * part[i].v[j];
    }
  }
  const float scale = 1 / sqrtf(warp_sum(squares) / kWidth + 1e-5f);

  const auto* weight = reinterpret_cast<const f32x4*>(args.weight) + lane();
  const auto* bias = reinterpret_cast<const f32x4*>(args.bias) + lane();
  const int64_t first = int64_t{row} * kWidth + lane() * 4;
  [[maybe_unused]] float byte_scale = 0;  // lane i keeps that of part i
#pragma unroll
  for (int i = 0; i < kParts; i++) {
    const f32x4 w = load_readonly(weight + i * 32), b = load_readonly(bias + i * 32);
    float value[4];
#pragma unroll
    for (int j = 0; j < 4; j++) value[j] = part[i].v[j] * scale * w.v[j] + b.v[j];
    if constexpr (kSame<T, s8x2>) {
      const float most = warp_max(fmaxf(fmaxf(fabsf(value[0]), fabsf(value[1])), fmaxf(fabsf(value[2]), fabsf(value[3]))));
      if (lane() == i) byte_scale = most * (1 / 127.0f);
      store(reinterpret_cast<uint32_t*>(static_cast<int8_t*>(args.y) + first + i * 128), to_bytes(value, 127 / most));
    } else {
      store(reinterpret_cast<u32x2*>(static_cast<T*>(args.y) + first + i * 128),
            u32x2{pack<T>(value[0], value[1]), pack<T>(value[2], value[3])});
    }
  }
  if constexpr (kSame<T, s8x2>) {
    if (lane() < kParts) store(args.scales + int64_t{lane()} * args.m + row, byte_scale);
  }
}

}  // namespace sotto::cuda
