// y [m][n] = a [m][k] w [n][k]^T + bias, and what becomes of y (shapes.h, Product): every matrix product of the
// encoder, the two convolutions, and the projection of the encoder's output to the decoder's keys and values.
//
// Contract. a's rows are product_lda apart, 16-byte aligned; w and bias are packed by pack_encoder, in the orders of
// mma_column and bias_place; n and k are whole tiles, m is any number: rows past it are read as the last one, and not
// written. Grid: n / tile.n blocks by ceil(m / tile.m); tile.threads(), tile.bytes() of shared memory. A value's sum runs
// over k in steps of 16 from 0 on, whatever the tile, so it depends neither on the grid nor on the window's company.
//
// Roofline. 2 m n k operations; bytes: blocks read ceil(m / tile.m) times w and n / tile.n times a, of which memory
// sees each once while the second cache holds both (large-v3's fc1 at one window: 19.7 G operations, 3.9 MB of a,
// 13.1 MB of w, 15.4 MB written), so operations are the limit: A100 312 T/s, RTX 4090 165 T/s, H200 989 T/s, B200 2250
// T/s (dense, f32 sums), of which mma.sync reaches two thirds on sm_90 and a third on sm_100. Predicted share, not
// measured: 70 % on sm_80, 80 % on sm_86, 89 and 120, 60 % on sm_90, 28 % on sm_100, times the fill of the last wave.
//
// A warp holds 64 x 64, 64 x 32 or 32 x 32 of y in registers; 64 x 64 reads 4 KB of shared memory for 32 mma, half of
// what their time allows. Rows in shared memory are tile.k values, their 16-byte chunks exchanged so that the eight rows
// of an ldmatrix lie in different banks. One barrier a stage: when all warps have passed it, the stage that was read
// before it is free for the copy that is issued after it.
#pragma once

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/fragments.cuh"
#include "kernels/cuda/gelu.cuh"

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
template <Product kProduct, int kWidth, int kBins, int kTileIndex>
struct Shape {
  static constexpr Tile kTile = kTiles[kTileIndex];
  static constexpr int kThreads = kTile.threads();
  static constexpr int kK = product_k(kProduct, kWidth, kBins), kLda = product_lda(kProduct, kWidth, kBins);
  static constexpr bool kWritesX = writes_x(kProduct);
  static constexpr int kRun = column_run(kProduct);
};

template <class T, Product kProduct, int kWidth, int kBins, int kTileIndex>
DEVICE void multiply(const ProductArgs& args) {
  using S = Shape<kProduct, kWidth, kBins, kTileIndex>;
  constexpr Tile kTile = S::kTile;
  constexpr int kK = S::kK, kSteps = kTile.k / 16;
  constexpr int kM = kTile.m / kTile.warps_m / 16, kN = kTile.n / kTile.warps_n / 8;  // mma tiles of a warp
  constexpr int kChunks = kTile.k / 8, kRowStep = S::kThreads / kChunks, kStage = (kTile.m + kTile.n) * kTile.k;
  static_assert(kK % kTile.k == 0 && kN % 4 == 0 && kRowStep % 8 == 0 && kTile.m % kRowStep == 0);

  T* const shared = reinterpret_cast<T*>(shared_memory());
  const int m0 = block_y() * kTile.m, n0 = block_x() * kTile.n;

  // This thread copies one chunk of every kRowStep-th row of both tiles.
  const int copy_row = thread() / kChunks, copy_chunk = thread() % kChunks;
  const T* const a = static_cast<const T*>(args.a) + copy_chunk * 8;
  const T* const w = static_cast<const T*>(args.w) + int64_t{n0 + copy_row} * kK + copy_chunk * 8;
  const int copy_to = chunk_at<kChunks>(copy_row, copy_chunk);
  int64_t a_row[kTile.m / kRowStep];
#pragma unroll
  for (int i = 0; i < kTile.m / kRowStep; i++) {
    const int m = m0 + copy_row + i * kRowStep;
    a_row[i] = int64_t{m < args.m ? m : args.m - 1} * S::kLda;
  }
  const auto copy_stage = [&](int stage, int k) {
    T* const to = shared + stage * kStage + copy_to;
#pragma unroll
    for (int i = 0; i < kTile.m / kRowStep; i++) cp_async_16(to + i * kRowStep * kTile.k, a + a_row[i] + k);
#pragma unroll
    for (int i = 0; i < kTile.n / kRowStep; i++) {
      cp_async_16(to + (kTile.m + i * kRowStep) * kTile.k, w + int64_t{i * kRowStep} * kK + k);
    }
  };

  // The rows whose chunks this lane gives to ldmatrix; a step of 16 values further on they are at `^ 16 * step`.
  const int warp_m = warp() / kTile.warps_n * (kM * 16), warp_n = warp() % kTile.warps_n * (kN * 8);
  const int a_at = chunk_at<kChunks>(warp_m + lane() % 16, lane() / 16);
  const int w_at = chunk_at<kChunks>(kTile.m + warp_n + lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
  const auto read_step = [&](const T* stage, int step, uint32_t (&a_part)[kM][4], uint32_t (&w_part)[kN][2]) {
#pragma unroll
    for (int i = 0; i < kM; i++) ldmatrix_x4(a_part[i], stage + i * 16 * kTile.k + (a_at ^ step * 16));
#pragma unroll
    for (int j = 0; j < kN; j += 2) ldmatrix_pair(w_part[j], w_part[j + 1], stage + j * 8 * kTile.k + (w_at ^ step * 16));
  };

  float y[kM][kN][4] = {};
#pragma unroll
  for (int stage = 0; stage < kTile.stages - 1; stage++) {
    if (stage * kTile.k < kK) copy_stage(stage, stage * kTile.k);
    cp_async_commit();
  }
  int stage = 0;
#pragma unroll 1
  for (int k = 0; k < kK; k += kTile.k) {
    cp_async_wait<kTile.stages - 2>();
    sync_threads();
    const int read_before = stage == 0 ? kTile.stages - 1 : stage - 1, k_ahead = k + (kTile.stages - 1) * kTile.k;
    if (k_ahead < kK) copy_stage(read_before, k_ahead);
    cp_async_commit();
    const T* const tiles = shared + stage * kStage;
    uint32_t a_part[2][kM][4], w_part[2][kN][2];
    read_step(tiles, 0, a_part[0], w_part[0]);
#pragma unroll
    for (int step = 0; step < kSteps; step++) {
      if (step + 1 < kSteps) read_step(tiles, step + 1, a_part[(step + 1) % 2], w_part[(step + 1) % 2]);
      mma_tile<T>(y, a_part[step % 2], w_part[step % 2]);
    }
    stage = stage + 1 == kTile.stages ? 0 : stage + 1;
  }

  // A lane has two columns of each eight: kRun neighbouring ones of y in every kRun / 2 eights (mma_column).
  constexpr int kRun = S::kRun;
#pragma unroll
  for (int j = 0; j < kN; j += kRun / 2) {
    const int n = n0 + warp_n + j * 8 + lane() % 4 * kRun;
    f32x4 bias[kRun / 4];
#pragma unroll
    for (int i = 0; i < kRun / 4; i++) {
      bias[i] = load_readonly(reinterpret_cast<const f32x4*>(args.bias + n0 + warp_n + j * 8 + i * 16) + lane() % 4);
    }
#pragma unroll
    for (int i = 0; i < 2 * kM; i++) {  // rows lane / 4 and lane / 4 + 8 of each 16
      const int m = m0 + warp_m + i * 8 + lane() / 4;
      if (m >= args.m) continue;
      float run[kRun];
#pragma unroll
      for (int l = 0; l < kRun; l++) run[l] = y[i / 2][j + l / 2][i % 2 * 2 + l % 2] + bias[l / 4].v[l % 4];
      if constexpr (S::kWritesX) {
        store_x<kProduct, kWidth>(args, m, n, {run[0], run[1], run[2], run[3]});
      } else {
        store_half<T, kProduct, kWidth>(args, m, n, run);
      }
    }
  }
}

}  // namespace sotto::cuda
