// How a product's operands come from global memory to registers: tiles of a and w by cp.async through the stages of a
// ring in shared memory, from there by ldmatrix. Rows in shared memory are tile.k values, their 16-byte chunks exchanged
// so that the eight rows of an ldmatrix lie in different banks. While one step of 16 values is multiplied, the next is
// read, across stages too, where S::kAhead says that there are registers for it. One barrier a stage, before the first
// step of the next one is read: when all warps have passed it, that stage has landed, and the stage whose last step was
// read before it is free for the next copy.
#pragma once

#include "kernels/cuda/fragments.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/tiles.h"

namespace sotto::cuda {

// The block's tiles of a and w on their way to registers. T has two bytes; k counts them.
template <class T, class S>
struct Operands {
  static constexpr Tile kTile = S::kTile;
  static constexpr int kM = kTile.m / kTile.warps_m / 16, kN = kTile.n / kTile.warps_n / 8;  // mma tiles of a warp
  static constexpr int kChunks = kTile.k / 8, kRowStep = S::kThreads / kChunks;
  static constexpr int kStage = (kTile.m + kTile.n) * kTile.k;
  static_assert(S::kK % kTile.k == 0 && kRowStep % 8 == 0 && kTile.m % kRowStep == 0 && kTile.n % kRowStep == 0);

  T* shared;
  int m0, n0;          // of the block
  int warp_m, warp_n;  // of the warp in the block
  // This thread copies one chunk of every kRowStep-th row of both tiles.
  const T* a_row[kTile.m / kRowStep];
  const T* w;
  int copy_to;
  // The rows whose chunks this lane gives to ldmatrix; a step of 16 values further on they are at `^ 16 * step`.
  int a_at, w_at;

  DEVICE Operands(const void* all_a, const void* all_w, int m_end)
      : shared(reinterpret_cast<T*>(shared_memory())), m0(block_y() * kTile.m), n0(block_x() * kTile.n),
        warp_m(warp() / kTile.warps_n * (kM * 16)), warp_n(warp() % kTile.warps_n * (kN * 8)) {
    const int row = thread() / kChunks, chunk = thread() % kChunks;
    w = static_cast<const T*>(all_w) + int64_t{n0 + row} * S::kK + chunk * 8;
    copy_to = chunk_at<kChunks>(row, chunk);
#pragma unroll
    for (int i = 0; i < kTile.m / kRowStep; i++) {
      const int m = m0 + row + i * kRowStep;
      a_row[i] = static_cast<const T*>(all_a) + int64_t{m < m_end ? m : m_end - 1} * S::kLda + chunk * 8;
    }
    a_at = chunk_at<kChunks>(warp_m + lane() % 16, lane() / 16);
    w_at = chunk_at<kChunks>(kTile.m + warp_n + lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
  }

  DEVICE void copy(int stage, int k) const {
    T* const to = shared + stage * kStage + copy_to;
#pragma unroll
    for (int i = 0; i < kTile.m / kRowStep; i++) cp_async_16(to + i * kRowStep * kTile.k, a_row[i] + k);
#pragma unroll
    for (int i = 0; i < kTile.n / kRowStep; i++) {
      cp_async_16(to + (kTile.m + i * kRowStep) * kTile.k, w + k + i * kRowStep * S::kK);
    }
  }

  DEVICE void read(int stage, int step, uint32_t (&a_part)[kM][4], uint32_t (&w_part)[kN][2]) const {
    const T* const tiles = shared + stage * kStage;
#pragma unroll
    for (int i = 0; i < kM; i++) ldmatrix_x4(a_part[i], tiles + i * 16 * kTile.k + (a_at ^ step * 16));
#pragma unroll
    for (int j = 0; j < kN; j += 2) {
      ldmatrix_pair(w_part[j], w_part[j + 1], tiles + j * 8 * kTile.k + (w_at ^ step * 16));
    }
  }

  // Calls use(k, step, a, w) for each step of 16 values, in order: value k + 16 * step on, of the stage from value k on.
  template <class Use>
  DEVICE void stream(const Use& use) const {
    constexpr int kSteps = kTile.k / 16;
    static_assert(kSteps % 2 == 0);
#pragma unroll
    for (int stage = 0; stage < kTile.stages - 1; stage++) {
      if (stage * kTile.k < S::kK) copy(stage, stage * kTile.k);
      cp_async_commit();
    }
    uint32_t a_part[2][kM][4], w_part[2][kN][2];  // one of each without kAhead
    const auto begin_stage = [&](int stage) {
      cp_async_wait<kTile.stages - 2>();
      sync_threads();
      if (S::kAhead) read(stage, 0, a_part[0], w_part[0]);
    };
    begin_stage(0);
    int stage = 0, free = kTile.stages - 1;
#pragma unroll 1
    for (int k = 0; k < S::kK; k += kTile.k) {
      const int next = stage + 1 == kTile.stages ? 0 : stage + 1, k_ahead = k + (kTile.stages - 1) * kTile.k;
#pragma unroll
      for (int step = 0; step < kSteps; step++) {
        const int now = S::kAhead ? step % 2 : 0;
        if (S::kAhead && step + 1 < kSteps) read(stage, step + 1, a_part[1 - now], w_part[1 - now]);
        if (S::kAhead && step + 1 == kSteps) begin_stage(next);  // what is read behind the last stage nobody uses
        if (!S::kAhead) read(stage, step, a_part[0], w_part[0]);
        use(k, step, a_part[now], w_part[now]);
        if (!S::kAhead && step + 1 == kSteps) begin_stage(next);
        if (step == 0) {
          if (k_ahead < S::kK) copy(free, k_ahead);
          cp_async_commit();
        }
      }
      free = stage;
      stage = next;
    }
  }
};

}  // namespace sotto::cuda
