// Attention of the rows of a slot over its window of 1500 keys, which all of them share.
//
// Contract: a block takes a share of one head's keys for one group of up to 16 rows of a slot; each warp 32 keys at a
// time. Scores are q k^T with the rows as the 16 of mma.m16n8k16, and their result is the next product's operand as it
// stands. Keys and values go from memory straight into registers, 16 bytes a lane: scores may sum the 64 values of a head in
// any order, so a lane takes two chunks of a key's eight as they come; values are transposed in registers (movmatrix), and
// a lane's results are 16 of 64 values. Warps merge in shared memory; each block leaves maxima, sums and values, and the
// last of a head to arrive merges them in the order of the keys. A row's result doesn't depend on its company.
//
// Roofline: 2 x 1500 x 64 x 2 = 384 KB for each (slot, head, layer), whatever the rows; parts of the blocks add
// rows x 264 x splits bytes twice, 4 to 8 % at 5 rows. 16 rows: 2 x 2 x 16 operations for 4 bytes. Memory is the limit:
// large-v3, one slot, 7.7 MB a layer, 1.6 us of an H200's 4.8 TB/s. Predicted share; not measured: 60 % for one slot (all
// of a block's loads are in flight at once, then latency), 85 % for 8 and more.
#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shapes.h"

namespace sotto::cuda {
namespace {

constexpr int kWarps = kCrossThreads / 32;
constexpr int kChunk = 32;                        // keys that a warp takes at a time
constexpr int kChunks = kRows / kChunk;           // 47, of which the last is short
constexpr int kSharedRow = kHead + 4;             // floats; so that 8 lanes store and load 16 bytes without conflict

// A warp's running softmax over the keys it has seen, of rows g and g + 8 (g = lane / 4): values 8 c to 8 c + 7 and 32
// further (c = lane % 4); the sums are of the lane's own keys until they are merged.
struct Running {
  float max[2], sum[2], value[1][8][4];
};

// 16 bytes of each of a row's halves: chunks c and c + 4 of eight.
struct Halves {
  u32x4 half[2];
};
DEVICE Halves load_key(const u32x4* head, int t) {  // row t has its chunks at chunk ^ t % 8
  const u32x4* row = head + t * (kHead / 8);
  const int c = lane() & 3;
  return {{load_streamed(row + (c ^ (t & 7))), load_streamed(row + ((c + 4) ^ (t & 7)))}};
}

// Scores of 32 keys, [n-tile of 8 keys][fragment]; lane: rows g, g + 8, keys 8 i + 2 c and the next.
template <class T>
DEVICE void scores(const uint32_t (&q)[4][4], const Halves (&key)[4], float (&s)[1][4][4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int j = 0; j < 4; j++) s[0][i][j] = 0;
  }
#pragma unroll
  for (int step = 0; step < 4; step++) {
    uint32_t a[1][4], b[4][2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      a[0][i] = q[step][i];
      b[i][0] = key[i].half[step / 2].v[step % 2 * 2];
      b[i][1] = key[i].half[step / 2].v[step % 2 * 2 + 1];
    }
    mma_tile<T>(s, a, b);
  }
}

template <class T>
DEVICE void attend(Running& all, float (&s)[1][4][4], const Halves (&value)[4]) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float max = all.max[r];
#pragma unroll
    for (int i = 0; i < 4; i++) max = fmaxf(max, fmaxf(s[0][i][2 * r], s[0][i][2 * r + 1]));
    max = fmaxf(max, shuffle_xor(max, 1));
    max = fmaxf(max, shuffle_xor(max, 2));
    const float scale = exp2_approx(all.max[r] - max);  // 0 at first
    all.max[r] = max;
    all.sum[r] *= scale;
#pragma unroll
    for (int n = 0; n < 8; n++) {
      all.value[0][n][2 * r] *= scale;
      all.value[0][n][2 * r + 1] *= scale;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int j = 2 * r; j < 2 * r + 2; j++) {
        s[0][i][j] = exp2_approx(s[0][i][j] - max);
        all.sum[r] += s[0][i][j];
      }
    }
  }
#pragma unroll
  for (int step = 0; step < 2; step++) {
    uint32_t p[1][4], v[8][2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float(&of)[4] = s[0][2 * step + i / 2];
      p[0][i] = pack<T>(of[i % 2 * 2], of[i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int n = 0; n < 8; n++) {
      v[n][0] = transpose_8x8(value[2 * step].half[n / 4].v[n % 4]);
      v[n][1] = transpose_8x8(value[2 * step + 1].half[n / 4].v[n % 4]);
    }
    mma_tile<T>(all.value, p, v);
  }
}

// Leaves what the block's warps found together for the rows: maxima, sums and values, in shared memory and then in part.
DEVICE void merge_warps(const Running& all, int n_rows, float* part) {
  auto* shared = reinterpret_cast<float*>(shared_memory());  // values [warp][16][kSharedRow], (maximum, sum) [warp][16]
  auto* states = reinterpret_cast<f32x2*>(shared + kWarps * kGroupRows * kSharedRow);
  const int g = lane() >> 2, c = lane() & 3;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float sum = all.sum[r];
    sum += shuffle_xor(sum, 1);
    sum += shuffle_xor(sum, 2);
    const int row = warp() * kGroupRows + g + 8 * r;
    if (c == 0) store_shared(states + row, f32x2{all.max[r], sum});
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      store_shared(reinterpret_cast<f32x4*>(shared + row * kSharedRow + n / 4 * 32 + 8 * c + n % 4 * 2),
                   f32x4{all.value[0][n][2 * r], all.value[0][n][2 * r + 1], all.value[0][n + 1][2 * r],
                         all.value[0][n + 1][2 * r + 1]});
    }
  }
  sync_threads();
  for (int i = thread(); i < n_rows * (kHead / 4); i += kCrossThreads) {
    const int row = i / (kHead / 4), quad = i % (kHead / 4);
    float max = -INFINITY, sum = 0;
    f32x2 state[kWarps];
    f32x4 out = {};
#pragma unroll
    for (int w = 0; w < kWarps; w++) {
      state[w] = load_shared(states + w * kGroupRows + row);
      max = fmaxf(max, state[w].v[0]);
    }
#pragma unroll
    for (int w = 0; w < kWarps; w++) {
      const float scale = exp2_approx(state[w].v[0] - max);
      const f32x4 v = load_shared(reinterpret_cast<const f32x4*>(shared + (w * kGroupRows + row) * kSharedRow + 4 * quad));
      sum += scale * state[w].v[1];
#pragma unroll
      for (int j = 0; j < 4; j++) out.v[j] += scale * v.v[j];
    }
    store(reinterpret_cast<f32x4*>(part + row * kHead + 4 * quad), out);
    if (quad == 0) store(reinterpret_cast<f32x2*>(part + kGroupRows * kHead + 2 * row), f32x2{max, sum});
  }
}

// Merges the parts of all blocks in the order of the keys.
template <class T>
DEVICE void merge_blocks(const float* parts, int splits, int n_rows, int width, void* out) {
  for (int i = thread(); i < n_rows * (kHead / 4); i += kCrossThreads) {
    const int row = i / (kHead / 4), quad = i % (kHead / 4);
    float max = -INFINITY, sum = 0;
    f32x4 all = {};
    for (int s = 0; s < splits; s++) {
      const float* part = parts + s * kCrossPart;
      const f32x2 state = load(reinterpret_cast<const f32x2*>(part + kGroupRows * kHead + 2 * row));
      const f32x4 v = load(reinterpret_cast<const f32x4*>(part + row * kHead + 4 * quad));
      const float m = fmaxf(max, state.v[0]), old = exp2_approx(max - m), scale = exp2_approx(state.v[0] - m);
      max = m;
      sum = sum * old + scale * state.v[1];
#pragma unroll
      for (int j = 0; j < 4; j++) all.v[j] = all.v[j] * old + scale * v.v[j];
    }
    store(reinterpret_cast<u32x2*>(static_cast<uint16_t*>(out) + row * width + 4 * quad),
          u32x2{pack<T>(all.v[0] / sum, all.v[1] / sum), pack<T>(all.v[2] / sum, all.v[3] / sum)});
  }
}

template <class T, int kSplits, bool kScores>
DEVICE void cross_attention(const CrossAttentionArgs& args) {
  constexpr int kOfWarp = (kChunks + kSplits * kWarps - 1) / (kSplits * kWarps);  // chunks
  const int split = block_x(), head = block_y(), at = block_z(), heads = grid_y(), width = heads * kHead;
  if (at >= load(&args.table->n_groups)) return;
  const CrossGroup& group = args.table->group[at];
  const int slot = load(&group.slot), first = load(&group.first), n_rows = load(&group.n_rows);
  const int64_t base = (slot * args.slot_stride + int64_t{head} * kRows * kHead) / 8;
  const auto* keys = static_cast<const u32x4*>(args.keys) + base;
  const auto* values = static_cast<const u32x4*>(args.values) + base;
  const int g = lane() >> 2, c = lane() & 3;

  Running all = {{-INFINITY, -INFINITY}, {}, {}};
  uint32_t q[4][4];
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      u32x4 from = {};
      if (g + 8 * r < n_rows) {
        from = load(static_cast<const u32x4*>(args.q) + ((first + g + 8 * r) * width + head * kHead) / 8 + c + 4 * half);
      }
#pragma unroll
      for (int i = 0; i < 4; i++) q[2 * half + i / 2][i % 2 * 2 + r] = from.v[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kOfWarp; i++) {
    const int chunk = (split * kWarps + warp()) * kOfWarp + i;
    if (chunk >= kChunks) break;
    Halves key[4], value[4];
#pragma unroll
    for (int j = 0; j < 4; j++) key[j] = load_key(keys, chunk * kChunk + 8 * j + g);
#pragma unroll
    for (int j = 0; j < 4; j++) value[j] = load_key(values, chunk * kChunk + 8 * j + g);
    float s[1][4][4];
    scores<T>(q, key, s);
    if (kScores && args.score_head[head] >= 0) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
          if (g + 8 * r >= n_rows) continue;
          float* to = args.scores + (int64_t{args.score_head[head]} * kMaxStepRows + first + g + 8 * r) * kRows;
          constexpr float kScale = 0.125f / kQueryScale;
          store(reinterpret_cast<f32x2*>(to + chunk * kChunk + 8 * j + 2 * c),
                f32x2{s[0][j][2 * r] * kScale, s[0][j][2 * r + 1] * kScale});
        }
      }
    }
    if (chunk == kChunks - 1) {  // keys from 1500 on don't count; what their memory holds is anyone's guess
      constexpr int kLast = kAudioContext % 8;
      static_assert(kAudioContext / 8 * 8 + 8 == kRows);
#pragma unroll
      for (int r = 0; r < 4; r++) {
        if (2 * c + r % 2 >= kLast) s[0][3][r] = -INFINITY;
      }
      if (g >= kLast) value[3] = {};
    }
    attend<T>(all, s, value);
  }

  float* parts = args.parts + (int64_t{at} * heads + head) * kSplits * kCrossPart;
  merge_warps(all, n_rows, parts + split * kCrossPart);
  auto* is_last = reinterpret_cast<uint32_t*>(shared_memory() + kCrossShared - 4);
  sync_threads();
  if (thread() == 0) {
    uint32_t* arrived = args.arrived + at * heads + head;
    const bool last = atomic_add_acq_rel(arrived, 1) == kSplits - 1;
    if (last) store(arrived, 0u);
    store_shared(is_last, uint32_t{last});
  }
  sync_threads();
  if (load_shared(is_last)) {
    merge_blocks<T>(parts, kSplits, n_rows, width, static_cast<uint16_t*>(args.out) + first * width + head * kHead);
  }
}

}  // namespace

#define CROSS_ATTENTION(T, splits)                                                                          \
  KERNEL(cross_attention_##T##_##splits, kCrossThreads, 1, CrossAttentionArgs) {                            \
    cross_attention<T, splits, false>(args);                                                                \
  }                                                                                                         \
  KERNEL(cross_attention_scores_##T##_##splits, kCrossThreads, 1, CrossAttentionArgs) {                     \
    cross_attention<T, splits, true>(args);                                                                 \
  }
CROSS_ATTENTION(f16, 12)
CROSS_ATTENTION(f16, 6)
CROSS_ATTENTION(bf16, 12)
CROSS_ATTENTION(bf16, 6)

}  // namespace sotto::cuda
