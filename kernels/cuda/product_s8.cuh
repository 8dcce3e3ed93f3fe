// The products qkv, fc1 and fc2 with both operands in signed bytes: twice the tensor cores' rate, half the bytes.
//
// Contract. As product.cuh, but a int8 [m][k] and w int8 [n][k], each 128 values of a row with a scale of their own, [k /
// 128][m] and [k / 128][n] (w's in the order of its rows). fc1 leaves its result in bytes as well: a block's 128 columns
// are what shares a scale. k is a multiple of 128. 256 threads.
//
// Roofline. 2 m n k operations of 624 T/s on A100, 660 on RTX 4090, 1979 on H200; f32 operations beside them: 4 for each
// sum of 128 products, three quarters of the f32 pipe's time on A100 while the tensor cores have all of theirs. Bytes: a
// block reads 2 * 128 * k for 128 * 128 * k multiplications, so at the full rate blocks draw 4.9 TB/s on A100 and 15 TB/s on
// H200 from the second cache, which gives some 5 and 7. Predicted share, not measured: 50 % on sm_80, 70 % on sm_86, 89 and
// 120, 30 % on sm_90, times the fill of the last wave.
//
// A warp has 64 x 32 of y. Sums of 128 products are exact and below 2^21: an accumulator that starts as the bits of 1.5 *
// 2^23 is, read as a float, that number plus the sum, so no conversion is needed.
#pragma once

#include "kernels/cuda/product.cuh"
#include "kernels/cuda/quantise.cuh"

namespace sotto::cuda {

template <Product kWhich, int kWidth>
struct ByteShape {
  static constexpr Product kProduct = kWhich;
  static constexpr Tile kTile = kByteTile;
  static constexpr int kThreads = kTile.threads();
  static constexpr int kK = product_k(kProduct, kWidth, 0) / 2, kLda = kK, kColumns = product_n(kProduct, kWidth, 0);
  static constexpr bool kWritesX = writes_x(kProduct);
  static constexpr int kRun = column_run(kProduct);
  static constexpr bool kAhead = false;  // a stage's sums are turned into floats meanwhile
};

// fc1's result: gelu(y + bias) in bytes, with the scale of each row of the block's 128 columns.
template <class S, int kWidth, class Tiles>
DEVICE void store_bytes(const ProductS8Args& args, const Tiles& tiles, float (&y)[Tiles::kM][Tiles::kN][4]) {
  constexpr int kM = Tiles::kM, kWarps = S::kTile.warps_n;
  static_assert(Tiles::kN == 4);  // a lane has 8 neighbouring columns
  const int n = tiles.n0 + tiles.warp_n, lane_n = lane() % 4;
  f32x4 bias[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    bias[i] = load_readonly(reinterpret_cast<const f32x4*>(args.product.bias + n + i * 16) + lane_n);
  }

  // [tile.m][kWarps], in the last stage: that was read before the barrier that all have passed.
  float* const most_of_warps =
      reinterpret_cast<float*>(tiles.shared + (S::kK / S::kTile.k - 1) % S::kTile.stages * Tiles::kStage);
#pragma unroll
  for (int i = 0; i < 2 * kM; i++) {
    float most = 0;
#pragma unroll
    for (int l = 0; l < 8; l++) {
      float& value = y[i / 2][l / 2][i % 2 * 2 + l % 2];
      value = gelu(value + bias[l / 4].v[l % 4]);
      most = fmaxf(most, fabsf(value));
    }
    most = fmaxf(most, shuffle_xor(most, 1));
    most = fmaxf(most, shuffle_xor(most, 2));
    const int row = tiles.warp_m + i * 8 + lane() / 4;
    if (lane_n == 0) store_shared(most_of_warps + row * kWarps + warp() % kWarps, most);
  }
  sync_threads();
#pragma unroll
  for (int i = 0; i < 2 * kM; i++) {
    const int row = tiles.warp_m + i * 8 + lane() / 4, m = tiles.m0 + row;
    const f32x4 four = load_shared(reinterpret_cast<const f32x4*>(most_of_warps + row * kWarps));
    const float most = fmaxf(fmaxf(four.v[0], four.v[1]), fmaxf(four.v[2], four.v[3]));
    if (m >= args.product.m) continue;
    u32x2 packed;
#pragma unroll
    for (int part = 0; part < 2; part++) {
      float value[4];
#pragma unroll
      for (int l = 0; l < 4; l++) value[l] = y[i / 2][part * 2 + l / 2][i % 2 * 2 + l % 2];
      packed.v[part] = to_bytes(value, 127 / most);
    }
    int8_t* const to = static_cast<int8_t*>(args.product.to) + int64_t{m} * (4 * kWidth) + n + lane_n * 8;
    store(reinterpret_cast<u32x2*>(to), packed);
    if (tiles.warp_n == 0 && lane_n == 0) {
      store(args.to_scales + int64_t{tiles.n0 / kScaled} * args.product.m + m, most * (1 / 127.0f));
    }
  }
}

template <class T, Product kProduct, int kWidth>
DEVICE void multiply_s8(const ProductS8Args& args) {
  using S = ByteShape<kProduct, kWidth>;
  const Operands<s8x2, S> tiles(args.product.a, args.product.w, args.product.m);
  constexpr int kM = tiles.kM, kN = tiles.kN, kSteps = S::kTile.k / 16;
  const int m = args.product.m, row = tiles.m0 + tiles.warp_m + lane() / 4;
  const int column = tiles.n0 + tiles.warp_n + lane() % 4 * 2;
  float y[kM][kN][4] = {};
  int32_t sums[kM][kN][4];
  tiles.stream([&](int k, int step, const auto& a, const auto& w) {
    if (step == 0) {
#pragma unroll
      for (int i = 0; i < kM * kN * 4; i++) sums[i / 4 / kN][i / 4 % kN][i % 4] = kIntegerBitsAsInteger;
    }
    if (step < kSteps - 1) return mma_tile_s8(sums, a, w);
    // Scales are asked for when no more operands are: registers hold no more.
    const float* const a_scales = args.a_scales + int64_t{k / S::kTile.k} * m;
    const float* const w_scales = args.w_scales + k / S::kTile.k * S::kColumns + column;
    float a_scale[2 * kM];
    f32x2 w_scale[kN];
#pragma unroll
    for (int i = 0; i < 2 * kM; i++) a_scale[i] = load_readonly(a_scales + (row + i * 8 < m ? row + i * 8 : m - 1));
#pragma unroll
    for (int j = 0; j < kN; j++) w_scale[j] = load_readonly(reinterpret_cast<const f32x2*>(w_scales + j * 8));
    mma_tile_s8(sums, a, w);
#pragma unroll
    for (int i = 0; i < kM; i++) {
#pragma unroll
      for (int j = 0; j < kN; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          const float sum = as_float(static_cast<uint32_t>(sums[i][j][e])) - kIntegerBits;
          y[i][j][e] += sum * a_scale[2 * i + e / 2] * w_scale[j].v[e % 2];
        }
      }
    }
  });
  if constexpr (kProduct == Product::fc1) {
    store_bytes<S, kWidth>(args, tiles, y);
  } else {
    store_sums<T, S, kWidth>(args.product, tiles, y);
  }
}

}  // namespace sotto::cuda
