// Attention; included by each instruction set's file (see generic.h).
//
// Scores are never written for more than kKeyBlock keys: each block of keys is one product q kT (k = 64), a step of the
// running softmax (the maximum and sum so far; out is rescaled where the maximum grew), and one product p v.

constexpr float kLog2e = 1.44269504f;

// Rows as the product with keys or values of type T wants them; returns the scale that is left to apply.
static inline float to_factor(OfF32, const float* x, int n, char* out, float scale) {
  for (int i = 0; i < n; i += kLanes) store_f32(reinterpret_cast<float*>(out) + i, load_f32(x + i) * splat(scale));
  return 1;
}
static inline float to_factor(OfI8, const float* x, int n, char* out, float scale) {
  float step;
  ToI8::part(x, n, false, reinterpret_cast<uint8_t*>(out), &step);
  return step * scale;
}
#ifdef SOTTO_HAS_BF16
static inline float to_factor(OfBf16, const float* x, int n, char* out, float scale) {
  for (int i = 0; i < n; i += kLanes) store_bf16(reinterpret_cast<uint16_t*>(out) + i, load_f32(x + i) * splat(scale));
  return 1;
}
#endif

struct Softmax {
  float peak[kAttentionRows], total[kAttentionRows];
};

// scores [rows][kKeyBlock], in powers of 2, become weights; those past `keys` become 0. out [rows][64] is rescaled.
// value_scale: what weights are multiplied by in the end [kKeyBlock], or null.
static inline void softmax_step(float (*scores)[kKeyBlock], int rows, int keys, const float* value_scale,
                                Softmax& so_far, float (*out)[kHead64]) {
  for (int r = 0; r < rows; ++r) {
    float* row = scores[r];
    for (int i = keys; i < kKeyBlock; ++i) row[i] = -1e30f;
    vf largest = load_f32(row);
    for (int i = kLanes; i < kKeyBlock; i += kLanes) largest = max(largest, load_f32(row + i));
    float peak = largest_of(largest);
    if (peak > so_far.peak[r]) {
      const vf shrink = exp2_negative(splat(so_far.peak[r] - peak));
      for (int i = 0; i < kHead64; i += kLanes) store_f32(out[r] + i, load_f32(out[r] + i) * shrink);
      so_far.total[r] *= first_of(shrink);
      so_far.peak[r] = peak;
    } else {
      peak = so_far.peak[r];
    }
    vf total = splat(0);
    for (int i = 0; i < kKeyBlock; i += kLanes) {
      const vf weight = exp2_negative(load_f32(row + i) - splat(peak));
      total = total + weight;
      store_f32(row + i, value_scale ? weight * load_f32(value_scale + i) : weight);
    }
    so_far.total[r] += sum_of(total);
  }
}

template <class T>
constexpr int group_values() {
  return sizeof(typename T::Element) == 4 ? 1 : 4 / int(sizeof(typename T::Element));
}

template <class K, class V>
static void attention(const HeadAttention& h) {
  constexpr int kGroup = group_values<K>(), kValueGroup = group_values<V>();
  alignas(64) char q[kAttentionRows][kHead64 * sizeof(typename K::Element)];
  alignas(64) float scores[kAttentionRows][kKeyBlock];
  alignas(64) float out[kAttentionRows][kHead64] = {};
  float q_scale[kAttentionRows];
  vf sums[kAttentionRows][kVectors];
  Softmax so_far;
  for (int r = 0; r < h.rows; ++r) {
    q_scale[r] = to_factor(K{}, h.q + r * h.q_stride, kHead64, q[r], kLog2e / 8);
    so_far.peak[r] = -1e30f;
    so_far.total[r] = 0;
  }
  const int all_keys = padded_keys(h.n_keys);
  const char *keys = static_cast<const char*>(h.k), *values = static_cast<const char*>(h.v);
  const auto* key_scale = reinterpret_cast<const float*>(keys + int64_t(all_keys) * kHead64);  // of int8 ones
  const auto* key_start = reinterpret_cast<const int32_t*>(key_scale + all_keys);
  const auto* value_scale = reinterpret_cast<const float*>(values + int64_t(all_keys) * kHead64);
  for (int key = 0; key < h.n_keys; key += kKeyBlock) {
    for (int panel = 0; panel < kKeyBlock / kPanel; ++panel) {
      for (int r = 0; r < h.rows; ++r)
        for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(0);
      const int first = key + panel * kPanel;
      const Scales scales = {q_scale, 1, key_scale + first, key_start + first};
      tiles<K>(q[0], sizeof(q[0]), h.rows, keys + int64_t(first) * (kHead64 / kGroup) * K::kBBytes, kHead64 / kGroup,
               scales, sums);
      for (int r = 0; r < h.rows; ++r)
        for (int v = 0; v < kVectors; ++v) store_f32(scores[r] + panel * kPanel + v * kLanes, sums[r][v]);
    }
    softmax_step(scores, h.rows, h.n_keys - key < kKeyBlock ? h.n_keys - key : kKeyBlock,
                 V::kBBytes == 1 ? value_scale + key : nullptr, so_far, out);
    if (kValueGroup == 2)  // in place: a row's factors take the first half of its weights
      for (int r = 0; r < h.rows; ++r) to_factor(V{}, scores[r], kKeyBlock, reinterpret_cast<char*>(scores[r]), 1);
    for (int panel = 0; panel < kHead64 / kPanel; ++panel) {
      for (int r = 0; r < h.rows; ++r)
        for (int v = 0; v < kVectors; ++v) sums[r][v] = load_f32(out[r] + panel * kPanel + v * kLanes);
      const int64_t at = (int64_t(panel) * all_keys + key) / kValueGroup * kPanel * V::kBBytes;
      tiles<V>(reinterpret_cast<char*>(scores[0]), sizeof(scores[0]), h.rows, values + at, kKeyBlock / kValueGroup, {},
               sums);
      for (int r = 0; r < h.rows; ++r)
        for (int v = 0; v < kVectors; ++v) store_f32(out[r] + panel * kPanel + v * kLanes, sums[r][v]);
    }
  }
  for (int r = 0; r < h.rows; ++r)
    for (int i = 0; i < kHead64; i += kLanes)
      store_f32(h.out + r * h.out_stride + i, load_f32(out[r] + i) * splat(1 / so_far.total[r]));
}

// How K/V values are stored: one row of a head, converted.
struct StoreF32 {
  using Value = float;
  static constexpr int kGroup = 1;
  static inline void row(const float* x, float* out) {
    for (int i = 0; i < kHead64; i += kLanes) store_f32(out + i, load_f32(x + i));
  }
};
#ifdef SOTTO_HAS_F16
struct StoreF16 {
  using Value = uint16_t;
  static constexpr int kGroup = 1;
  static inline void row(const float* x, uint16_t* out) {
    for (int i = 0; i < kHead64; i += kLanes) store_f16(out + i, load_f32(x + i));
  }
};
#endif
#ifdef SOTTO_HAS_BF16
struct StoreBf16 {
  using Value = uint16_t;
  static constexpr int kGroup = 2;
  static inline void row(const float* x, uint16_t* out) {
    for (int i = 0; i < kHead64; i += kLanes) store_bf16(out + i, load_f32(x + i));
  }
};
#endif

template <class S>
static void pack_keys(const PackHead& p) {
  constexpr int kGroup = S::kGroup;
  typename S::Value values[kHead64];
  auto* out = static_cast<typename S::Value*>(p.out);
  for (int r = 0; r < p.rows; ++r) {
    S::row(p.x + r * p.x_stride, values);
    const int key = p.first + r;
    auto* column = out + (int64_t(key / kPanel) * kHead64 * kPanel + key % kPanel * kGroup);
    for (int d = 0; d < kHead64; d += kGroup)
      for (int i = 0; i < kGroup; ++i) column[d * kPanel + i] = values[d + i];
  }
}

template <class S>
static void pack_values(const PackHead& p) {
  constexpr int kGroup = S::kGroup;
  typename S::Value values[kHead64];
  auto* out = static_cast<typename S::Value*>(p.out);
  for (int r = 0; r < p.rows; ++r) {
    S::row(p.x + r * p.x_stride, values);
    const int key = p.first + r;
    for (int panel = 0; panel < kHead64 / kPanel; ++panel) {
      auto* row = out + (int64_t(panel) * p.n_keys + key / kGroup * kGroup) * kPanel + key % kGroup;
      for (int i = 0; i < kPanel; ++i) row[i * kGroup] = values[panel * kPanel + i];
    }
  }
}

// Rounds a row of a head to int8; returns its scale.
static inline float round_row(const float* x, int8_t* out) {
  uint8_t biased[kHead64];
  float step;
  ToI8::part(x, kHead64, false, biased, &step);
  for (int i = 0; i < kHead64; ++i) out[i] = int8_t(biased[i] - kOffset);
  return step;
}

static void pack_keys_i8(const PackHead& p) {
  auto* out = static_cast<int8_t*>(p.out);
  auto* scale = reinterpret_cast<float*>(out + int64_t(p.n_keys) * kHead64);
  auto* start = reinterpret_cast<int32_t*>(scale + p.n_keys);
  for (int r = 0; r < p.rows; ++r) {
    int8_t values[kHead64];
    const int key = p.first + r;
    scale[key] = round_row(p.x + r * p.x_stride, values);
    int sum = 0;
    for (int i = 0; i < kHead64; ++i) sum += values[i];
    start[key] = -kOffset * sum;
    int8_t* column = out + (int64_t(key / kPanel) * kHead64 * kPanel + key % kPanel * 4);
    for (int d = 0; d < kHead64; d += 4) __builtin_memcpy(column + d * kPanel, values + d, 4);
  }
}

static void pack_values_i8(const PackHead& p) {
  auto* out = static_cast<int8_t*>(p.out);
  auto* scale = reinterpret_cast<float*>(out + int64_t(p.n_keys) * kHead64);
  for (int r = 0; r < p.rows; ++r) {
    int8_t values[kHead64];
    const int key = p.first + r;
    scale[key] = round_row(p.x + r * p.x_stride, values);
    for (int panel = 0; panel < kHead64 / kPanel; ++panel)
      __builtin_memcpy(out + (int64_t(panel) * p.n_keys + key) * kPanel, values + panel * kPanel, kPanel);
  }
}
