// Encoder self-attention: softmax(q k^T) v of each head over the window's 1500 positions, none of it ever in memory.
//
// Contract. One block takes kQueries queries of one head of one window; grid: ceil(kRows / kQueries) by heads by windows;
// 128 threads. q holds the scale 64^-1/2 log2 e; v's 64 values stand in the order of mma_column(_, 8), so that a lane's
// sums are neighbours in y. Keys 1500 ... 1503 are finite and take no part. The order of keys is the same for every
// query, so y does not depend on kQueries.
//
// Roofline. Per window and head 4 * 1500^2 * 64 = 0.58 G operations (large-v3: 11.5 G a layer), as many exponentials as
// 1500^2 = 2.25 M, and 4 * 1504 * 128 bytes = 0.77 MB, so operations are the limit, 312 / 165 / 989 T/s on A100, RTX 4090
// and H200 with f32 sums; at 16 exponentials a cycle and SM these take a quarter, a half (A100) to all (H200) of that time.
// Predicted share, not measured: 65 % on sm_80, 80 % on sm_86, 89 and 120, 45 % on sm_90, times the fill of the last wave.
//
// Flash attention (Dao, "FlashAttention-2", 2023): a warp has 16 or 32 queries' operands, scores of 64 keys and sums in
// registers; the exponentials are packed in place as the second product's left operand. Two stages of keys and values:
// the next tile is copied while this one is used, with one barrier a tile. 1500 = 23 * 64 + 28: the last tile has 32 keys
// and is the only one with a mask.
#pragma once

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/fragments.cuh"

namespace sotto::cuda {

constexpr int kWholeTiles = kAudioContext / kKeyTile, kLastKeys = 32, kLastValid = kAudioContext % kKeyTile;
static_assert(kLastValid <= kLastKeys && kWholeTiles * kKeyTile + kLastKeys == kRows);

// What a warp keeps of its 16 kM queries; a lane holds parts of rows lane / 4 and lane / 4 + 8 of each 16.
template <int kM>
struct Attended {
  uint32_t q[4][kM][4];    // left operands of the four steps of 16 values
  float y[kM][8][4] = {};  // weighted sums of v, in eights of values
  float max[kM][2];        // of the scores so far
  float sum[kM][2] = {};   // of this lane's exponentials
};

// Takes in kKeys keys and values in shared memory, of which the first kValid count.
template <class T, int kM, int kKeys, int kValid>
DEVICE void attend_tile(Attended<kM>& state, const T* keys, const T* values) {
  constexpr int kEights = kKeys / 8;
  const int key_at = chunk_at<8>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
  const int value_at = chunk_at<8>(lane() % 16, lane() / 16);

  float scores[kM][kEights][4] = {};
#pragma unroll
  for (int step = 0; step < 4; step++) {
    uint32_t k[kEights][2];
#pragma unroll
    for (int j = 0; j < kEights; j += 2) ldmatrix_pair(k[j], k[j + 1], keys + j * 8 * kHead + (key_at ^ step * 16));
    mma_tile<T>(scores, state.q[step], k);
  }
  if constexpr (kValid < kKeys) {
#pragma unroll
    for (int j = kValid / 8; j < kEights; j++) {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        if (j * 8 + lane() % 4 * 2 + e < kValid) continue;
#pragma unroll
        for (int i = 0; i < kM; i++) scores[i][j][e] = scores[i][j][e + 2] = -INFINITY;
      }
    }
  }

  uint32_t p[kKeys / 16][kM][4];  // the exponentials, as left operands
#pragma unroll
  for (int i = 0; i < kM; i++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float max = state.max[i][half];
#pragma unroll
      for (int j = 0; j < kEights; j++) max = fmaxf(max, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
      max = fmaxf(max, shuffle_xor(max, 1));
      max = fmaxf(max, shuffle_xor(max, 2));
      const float shrink = exp2_approx(state.max[i][half] - max);
      state.max[i][half] = max;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kEights; j++) {
        const float first = exp2_approx(scores[i][j][2 * half] - max);
        const float second = exp2_approx(scores[i][j][2 * half + 1] - max);
        sum += first + second;
        p[j / 2][i][j % 2 * 2 + half] = pack<T>(first, second);
      }
      state.sum[i][half] = state.sum[i][half] * shrink + sum;
#pragma unroll
      for (int j = 0; j < 8; j++) {
        state.y[i][j][2 * half] *= shrink;
        state.y[i][j][2 * half + 1] *= shrink;
      }
    }
  }

#pragma unroll
  for (int step = 0; step < kKeys / 16; step++) {
    uint32_t v[8][2];
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      ldmatrix_pair_trans(v[j], v[j + 1], values + step * 16 * kHead + (value_at ^ j * 8));
    }
    mma_tile<T>(state.y, p[step], v);
  }
}

template <class T, int kQueries>
DEVICE void encoder_attention(const EncoderAttentionArgs& args) {
  constexpr int kM = kQueries / 4 / 16, kThreads = kAttentionThreads, kTile = kKeyTile * kHead;
  const int q0 = block_x() * kQueries, head = block_y(), window = block_z();
  const int64_t part = args.heads * kHeadSize;  // from q to k to v
  const T* const q = static_cast<const T*>(args.qkv) + window * 3 * part + head * kHeadSize;
  const T* const k = q + part;

  // Keys and values of two tiles; the queries pass through the second's place.
  T* const shared = reinterpret_cast<T*>(shared_memory());
  const int copy_row = thread() / 8, copy_to = chunk_at<8>(copy_row, thread() % 8), copy_from = thread() % 8 * 8;
  constexpr int kCopied = kThreads / 8;  // rows at once
  const T* const key_row = k + copy_row * kHead + copy_from;
  const auto copy_keys = [&](int tile) {  // and their values
    const int rows = tile < kWholeTiles ? kKeyTile : kLastKeys;
    T* const to = shared + tile % 2 * 2 * kTile + copy_to;
    const T *const keys = key_row + tile * kTile, *const values = keys + part;
#pragma unroll
    for (int row = 0; row < kKeyTile; row += kCopied) {
      if (row >= rows) break;
      cp_async_16(to + row * kHead, keys + row * kHead);
      cp_async_16(to + kTile + row * kHead, values + row * kHead);
    }
    cp_async_commit();
  };

#pragma unroll
  for (int row = 0; row < kQueries; row += kCopied) {
    const int t = q0 + row + copy_row;
    cp_async_16(shared + 2 * kTile + row * kHead + copy_to, q + (t < kRows ? t : kRows - 1) * kHead + copy_from);
  }
  cp_async_commit();
  copy_keys(0);
  cp_async_wait<1>();
  sync_threads();
  Attended<kM> state;
  const int warp_q = warp() * 16 * kM, q_at = chunk_at<8>(warp_q + lane() % 16, lane() / 16);
#pragma unroll
  for (int i = 0; i < kM; i++) {
    state.max[i][0] = state.max[i][1] = -INFINITY;
#pragma unroll
    for (int step = 0; step < 4; step++) {
      ldmatrix_x4(state.q[step][i], shared + 2 * kTile + i * 16 * kHead + (q_at ^ step * 16));
    }
  }

  for (int tile = 0; tile < kWholeTiles; tile++) {
    cp_async_wait<0>();
    sync_threads();
    copy_keys(tile + 1);
    const T* const keys = shared + tile % 2 * 2 * kTile;
    attend_tile<T, kM, kKeyTile, kKeyTile>(state, keys, keys + kTile);
  }
  cp_async_wait<0>();
  sync_threads();
  const T* const keys = shared + kWholeTiles % 2 * 2 * kTile;
  attend_tile<T, kM, kLastKeys, kLastValid>(state, keys, keys + kTile);

  T* const y = static_cast<T*>(args.y) + (int64_t{window} * kRows + q0 + warp_q) * (args.heads * kHead) + head * kHead;
#pragma unroll
  for (int i = 0; i < kM; i++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float sum = state.sum[i][half];
      sum += shuffle_xor(sum, 1);
      sum += shuffle_xor(sum, 2);
      const float scale = reciprocal_approx(sum);
      const int row = i * 16 + half * 8 + lane() / 4;
      if (q0 + warp_q + row >= kRows) continue;
#pragma unroll
      for (int j = 0; j < 8; j += 4) {
        u32x4 packed;
#pragma unroll
        for (int l = 0; l < 4; l++) {
          packed.v[l] = pack<T>(state.y[i][j + l][2 * half] * scale, state.y[i][j + l][2 * half + 1] * scale);
        }
        store(reinterpret_cast<u32x4*>(y + int64_t{row} * (args.heads * kHead) + j * 8 + lane() % 4 * 8), packed);
      }
    }
  }
}

}  // namespace sotto::cuda
