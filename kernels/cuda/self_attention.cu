// Attention of each row over the positions of its own past, at the places that an index table names.
//
// Contract: one block for each (head, row). Position t's key and value are in the memory of row where[row][t], so beams
// are reordered by their table and never copied; the newest position is in the row's own. A key is 128 bytes, one line,
// which 8 lanes read; 16 such groups take every 16th position, each with running maximum, sum and values, and merge at
// the end in a fixed order.
//
// Roofline: 256 bytes for each (row, head, position); shared prompts come from L2. 5 rows of large-v3 at 100 positions:
// 2.6 MB a layer, 0.5 us of an H200's 4.8 TB/s, so a launch's latency leads up to some 300 positions. Predicted share; not
// measured: 30 % at 100 positions, 60 % at 448. No bank conflicts: 8 lanes store 16 bytes each 36 words apart or less.
#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {
namespace {

constexpr int kWarps = kSelfThreads / 32, kGroups = kSelfThreads / 8;
constexpr int kAtOnce = 4;  // positions of a group whose keys and values are in flight together

// Running softmax of some positions: maximum, sum and the lane's 8 of 64 values.
struct Running {
  float max, sum, value[8];
};

DEVICE void merge(Running& a, float max, float sum, const float (&value)[8]) {
  const float m = fmaxf(a.max, max), base = m == -INFINITY ? 0.0f : m;
  const float scale_a = exp2_approx(a.max - base), scale_b = exp2_approx(max - base);
  a.max = m;
  a.sum = a.sum * scale_a + sum * scale_b;
#pragma unroll
  for (int i = 0; i < 8; i++) a.value[i] = a.value[i] * scale_a + value[i] * scale_b;
}

template <class T>
DEVICE void to_floats(const u32x4& from, float (&to)[8]) {
#pragma unroll
  for (int i = 0; i < 4; i++) unpack<T>(from.v[i], to[2 * i], to[2 * i + 1]);
}

// Value d of a warp in shared memory, so that 8 lanes with 8 values each store without conflict.
DEVICE int value_at(int d) { return d + d / 32 * 4; }
constexpr int kWarpFloats = kHead + 8;  // then maximum and sum

template <class T>
DEVICE void self_attention(const SelfAttentionArgs& args) {
  const int row = block_y(), head = block_x(), width = grid_x() * kHead, part = lane() & 7, group = thread() >> 3;
  if (row >= load(&args.table->n_rows)) return;
  const TableRow of = load(&args.table->row[row]);
  const int n = of.position + 1;
  const uint8_t* where = args.where + (of.slot * args.self.max_rows + of.row) * kTextContext;
  const int64_t base = (of.slot * args.self.slot_stride + int64_t{head} * args.self.max_rows * kTextContext * kHead) / 8;
  const auto* keys = static_cast<const u32x4*>(args.self.keys) + base + part;
  const auto* values = static_cast<const u32x4*>(args.self.values) + base + part;
  float q[8];
  to_floats<T>(load(static_cast<const u32x4*>(args.q) + (row * width + head * kHead) / 8 + part), q);

  Running all = {-INFINITY, 0, {}};
  for (int first = 0; first < n; first += kGroups * kAtOnce) {
    u32x4 key[kAtOnce], value[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {
      const int t = first + i * kGroups + group;
      if (t < n) {
        const int of_row = t == of.position ? of.row : int{load(where + t)};
        key[i] = load(keys + (of_row * kTextContext + t) * (kHead / 8));
        value[i] = load(values + (of_row * kTextContext + t) * (kHead / 8));
      } else {
        key[i] = value[i] = {};
      }
    }
    float score[kAtOnce], max = all.max;
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {
      float k[8], dot = 0;
      to_floats<T>(key[i], k);
#pragma unroll
      for (int j = 0; j < 8; j++) dot += q[j] * k[j];
      for (int mask = 1; mask < 8; mask *= 2) dot += shuffle_xor(dot, mask);
      score[i] = first + i * kGroups + group < n ? dot : -INFINITY;
      max = fmaxf(max, score[i]);
    }
    const float scale = all.max == -INFINITY ? 0.0f : exp2_approx(all.max - max);
    all.max = max;
    all.sum *= scale;
#pragma unroll
    for (int j = 0; j < 8; j++) all.value[j] *= scale;
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {
      float v[8];
      to_floats<T>(value[i], v);
      const float p = score[i] == -INFINITY ? 0.0f : exp2_approx(score[i] - max);
      all.sum += p;
#pragma unroll
      for (int j = 0; j < 8; j++) all.value[j] += p * v[j];
    }
  }
  for (int mask = 8; mask < 32; mask *= 2) {
    float value[8];
    const float max = shuffle_xor(all.max, mask), sum = shuffle_xor(all.sum, mask);
#pragma unroll
    for (int j = 0; j < 8; j++) value[j] = shuffle_xor(all.value[j], mask);
    merge(all, max, sum, value);
  }

  auto* shared = reinterpret_cast<float*>(shared_memory());  // of each warp: values, maximum, sum
  float* mine = shared + warp() * kWarpFloats;
  if (lane() < 8) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float* v = all.value + 4 * half;
      store_shared(reinterpret_cast<f32x4*>(mine + value_at(8 * part + 4 * half)), f32x4{v[0], v[1], v[2], v[3]});
    }
    if (lane() == 0) store_shared(reinterpret_cast<f32x2*>(mine + kHead + 4), f32x2{all.max, all.sum});
  }
  sync_threads();
  if (warp() != 0) return;
  f32x2 state[kWarps];
  float max = -INFINITY, sum = 0, out[2] = {};
#pragma unroll
  for (int w = 0; w < kWarps; w++) {
    state[w] = load_shared(reinterpret_cast<const f32x2*>(shared + w * kWarpFloats + kHead + 4));
    max = fmaxf(max, state[w].v[0]);
  }
#pragma unroll
  for (int w = 0; w < kWarps; w++) {
    const float scale = state[w].v[0] == -INFINITY ? 0.0f : exp2_approx(state[w].v[0] - max);
    const f32x2 v = load_shared(reinterpret_cast<const f32x2*>(shared + w * kWarpFloats + value_at(2 * lane())));
    sum += scale * state[w].v[1];
    out[0] += scale * v.v[0];
    out[1] += scale * v.v[1];
  }
  store(static_cast<uint32_t*>(args.out) + (row * width + head * kHead) / 2 + lane(), pack<T>(out[0] / sum, out[1] / sum));
}

}  // namespace

KERNEL(self_attention_f16, kSelfThreads, 4, SelfAttentionArgs) { self_attention<f16>(args); }
KERNEL(self_attention_bf16, kSelfThreads, 4, SelfAttentionArgs) { self_attention<bf16>(args); }

}  // namespace sotto::cuda
