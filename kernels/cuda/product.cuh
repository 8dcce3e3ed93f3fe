// y [m][n] = a [m][k] w [n][k]^T + bias, and what becomes of y (shapes.h, Product): every matrix product of the
// encoder, the two convolutions, and the projection of the encoder's output to the decoder's keys and values.
//
// Contract. a's rows are product_lda apart, 16-byte aligned; w and bias are packed by pack_encoder, in the orders of
// mma_column and bias_place; n and k are whole tiles, m is any number: rows past it are read as the last one, and not
// written. Grid: n / tile.n blocks by ceil(m / tile.m); tile.threads(), tile.bytes() of shared memory. A value's sum runs
// over k in steps of 16 from 0 on, whatever the tile, so it depends neither on the grid nor on the window's company.
//
// Roofline. 2 m n k operations, of 312 T/s on A100, 165 on RTX 4090, 989 on H200, 2250 on B200 (dense, f32 sums), of
// which mma.sync reaches two thirds on sm_90 and a third on sm_100. Bytes: memory sees a, w and y once (large-v3's fc1 at
// one window: 19.7 G operations, 32 MB), but blocks read (m + n) k 2 bytes for m n k multiplications of a tile, from the
// second cache: at the full rate 128x128 draws 4.9 TB/s on A100 of some 5, 2.6 on RTX 4090 of 5, 15 on H200 of 7, where
// 128x256 makes do with 12. So operations are the limit, on H200 with the cache close by. Predicted share, not measured:
// 70 % on sm_80, 80 % on sm_86, 89 and 120, 60 % on sm_90, 28 % on sm_100, times the fill of the last wave.
//
// A warp holds 64 x 64, 64 x 32 or 32 x 32 of y in registers; 64 x 64 reads 4 KB of shared memory for 32 mma, half of
// what their time allows (operands.cuh). The next step's operands are read while this one's are multiplied.
#pragma once

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/operands.cuh"

namespace sotto::cuda {

// Eight values of row m from column n on become what the product is for.
template <class T, Product kProduct, int kWidth>
DEVICE void store_half(const ProductArgs& args, int m, int n, float (&y)[8]) {
  constexpr bool kGelu = kProduct == Product::conv1 || kProduct == Product::fc1;
  T* to = static_cast<T*>(args.to);
  if constexpr (kProduct == Product::fc1) to += int64_t{m} * (4 * kWidth) + n;
  if constexpr (kProduct == Product::conv1) {
    if (m % kFrameRows >= kMelFrames) return;
    to += int64_t{m + 1} * kWidth + n;
  }
  if constexpr (kProduct == Product::qkv) {
    to += (int64_t{m / kRows} * (3 * kWidth / kHead) + n / kHead) * kHeadSize + m % kRows * kHead + n % kHead;
    const float scale = n < kWidth ? kQueryScale : 1;
    for (float& value : y) value *= scale;
  }
  if constexpr (kProduct == Product::cross_kv) {
    constexpr int kHeads = kWidth / kHead;
    const int window = m / kRows, t = m % kRows, layer = n / (2 * kWidth), head = n / kHead % kHeads;
    if (t >= kAudioContext) return;
    if (n / kWidth % 2) to = static_cast<T*>(args.cross_v);
    to += ((int64_t{load_readonly(args.slots + window)} * args.decoder_layers + layer) * kHeads + head) * kHeadSize +
          t * kHead + (n % kHead / 8 ^ t % 8) * 8;
  }
  u32x4 packed;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    packed.v[i] = kGelu ? pack<T>(gelu(y[2 * i]), gelu(y[2 * i + 1])) : pack<T>(y[2 * i], y[2 * i + 1]);
  }
  store(reinterpret_cast<u32x4*>(to), packed);
}

// Four values of row m from column n on go to x, or are added to it.
template <Product kProduct, int kWidth>
DEVICE void store_x(const ProductArgs& args, int m, int n, f32x4 y) {
  auto* to = reinterpret_cast<f32x4*>(static_cast<float*>(args.to) + int64_t{m} * kWidth + n);
  f32x4 more;
  if constexpr (kProduct == Product::conv2) {
    more = load_readonly(reinterpret_cast<const f32x4*>(args.positions + m % kRows * kWidth + n));
  } else {
    more = load(to);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) y.v[i] = (kProduct == Product::conv2 ? gelu(y.v[i]) : y.v[i]) + more.v[i];
  store(to, y);
}

// What shapes.h and tiles.h say of one product, worked out before the kernel.
template <Product kWhich, int kWidth, int kBins, int kTileIndex>
struct HalfShape {
  static constexpr Product kProduct = kWhich;
  static constexpr Tile kTile = kTiles[kTileIndex];
  static constexpr int kThreads = kTile.threads();
  static constexpr int kK = product_k(kProduct, kWidth, kBins), kLda = product_lda(kProduct, kWidth, kBins);
  static constexpr bool kWritesX = writes_x(kProduct);
  static constexpr int kRun = column_run(kProduct);
  static constexpr bool kAhead = true;
};

// Sums of a warp, with their bias, become what the product is for.
template <class T, class S, int kWidth, class Tiles>
DEVICE void store_sums(const ProductArgs& args, const Tiles& tiles, const float (&y)[Tiles::kM][Tiles::kN][4]) {
  constexpr int kRun = S::kRun;
  // A lane has two columns of each eight: kRun neighbouring ones of y in every kRun / 2 eights (mma_column).
#pragma unroll
  for (int j = 0; j < Tiles::kN; j += kRun / 2) {
    const int n = tiles.n0 + tiles.warp_n + j * 8;  // of the first eight

    f32x4 bias[kRun / 4];
#pragma unroll
    for (int i = 0; i < kRun / 4; i++) {
      bias[i] = load_readonly(reinterpret_cast<const f32x4*>(args.bias + n + i * 16) + lane() % 4);
    }
#pragma unroll
    for (int i = 0; i < 2 * Tiles::kM; i++) {  // rows lane / 4 and lane / 4 + 8 of each 16
      const int m = tiles.m0 + tiles.warp_m + i * 8 + lane() / 4;
      if (m >= args.m) continue;
      float run[kRun];
#pragma unroll
      for (int l = 0; l < kRun; l++) run[l] = y[i / 2][j + l / 2][i % 2 * 2 + l % 2] + bias[l / 4].v[l % 4];
      if constexpr (S::kWritesX) {
        store_x<S::kProduct, kWidth>(args, m, n + lane() % 4 * kRun, {run[0], run[1], run[2], run[3]});
      } else {
        store_half<T, S::kProduct, kWidth>(args, m, n + lane() % 4 * kRun, run);
      }
    }
  }
}

template <class T, Product kProduct, int kWidth, int kBins, int kTileIndex>
DEVICE void multiply(const ProductArgs& args) {
  using S = HalfShape<kProduct, kWidth, kBins, kTileIndex>;
  const Operands<T, S> tiles(args.a, args.w, args.m);
  static_assert(tiles.kN % (S::kRun / 2) == 0);
  float y[tiles.kM][tiles.kN][4] = {};
  tiles.stream([&](int, int, const auto& a, const auto& w) { mma_tile<T>(y, a, w); });
  store_sums<T, S, kWidth>(args, tiles, y);
}

}  // namespace sotto::cuda
