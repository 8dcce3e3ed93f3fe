// Attention; included by each instruction set's file (see generic.h).
//
// Scores are never written for more than a tile of rows and kKeysAtOnce keys: each panel of keys is one product q kT
// (k = 64), whose sums become weights at once; then comes one product p v over these keys. Keys and values of a block stay
// in the second cache while all row tiles pass over them, and those of the next are fetched meanwhile.
//
// Weights are powers of 2 of scores less the row's peak. The peak is one of the first panel's; a later score may be above
// it by up to kSlack, which f32 holds as well, before the peak moves and what was summed up is rescaled.
// Roofline: 128 multiply-adds for each score beside about 13 other operations on the same ports: 90 % at most; of bytes a
// quarter of the multiply-adds. Measured in `base`'s encoder (AVX-512 with VNNI, Ice Lake, 2026-11-30): 75 %, bytes 36 %.

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

constexpr int kKeysAtOnce = 384, kKeysRounded = 128;  // at most; of weights that are rounded with one scale
constexpr float kSlack = 24;

template <class T>
constexpr int group_values() {
  return sizeof(typename T::Element) == 4 ? 1 : 4 / int(sizeof(typename T::Element));
}

// What weights are kept as until they are multiplied: of int8 ones as f32, since their scale comes from all of a block.
float weight_of(OfF32);
float weight_of(OfI8);
#ifdef SOTTO_HAS_BF16
uint16_t weight_of(OfBf16);
#endif

static inline void store_weights(float* to, vf weights) { store_f32(to, weights); }
static inline vf load_weights(const float* from) { return load_f32(from); }
#ifdef SOTTO_HAS_BF16
static inline void store_weights(uint16_t* to, vf weights) { store_bf16(to, weights); }
static inline vf load_weights(const uint16_t* from) { return load_bf16(from); }
#endif

// What one row has come to.
struct RowState {
  vf out[kHead64 / kLanes], total;  // of weights in lanes
  float peak;
};

// The row's first scores, or some above kSlack: moves the peak to the largest. `weights` [done] of this block follow.
template <class W>
static void move_peak(vf (&scores)[kVectors], RowState& row, W* weights, int done, bool is_first) {
  vf largest = scores[0];
  for (int v = 1; v < kVectors; ++v) largest = max(largest, scores[v]);
  const float rise = largest_of(largest);
  row.peak += rise;
  for (int v = 0; v < kVectors; ++v) scores[v] = scores[v] - splat(rise);
  if (is_first) return;
  const vf shrink = exp2_negative(splat(-rise));
  row.total = row.total * shrink;
  for (int i = 0; i < kHead64 / kLanes; ++i) row.out[i] = row.out[i] * shrink;
  for (int i = 0; i < done; i += kLanes) store_weights(weights + i, load_weights(weights + i) * shrink);
}

// Scores of one panel, less the rows' peaks, become weights; those past `keys` become 0.
// value_scale: what weights are multiplied by in the end [kPanel], if kScaled.
template <bool kScaled, class W>
static inline void weigh(vf (*scores)[kVectors], int rows, int keys, const float* value_scale, RowState* states,
                         W (*weights)[kKeysAtOnce], int done, bool is_first) {
  for (int r = 0; r < rows; ++r) {
    RowState& row = states[r];
    vf (&x)[kVectors] = scores[r];
    if (keys < kPanel) {
      float last[kPanel];
      for (int v = 0; v < kVectors; ++v) store_f32(last + v * kLanes, x[v]);
      for (int i = keys > 0 ? keys : 0; i < kPanel; ++i) last[i] = -1e30f;
      for (int v = 0; v < kVectors; ++v) x[v] = load_f32(last + v * kLanes);
    }
    vf largest = x[0];
    for (int v = 1; v < kVectors; ++v) largest = max(largest, x[v]);
    if (is_first || any_at_least(largest, splat(kSlack))) move_peak(x, row, weights[r], done, is_first);
    vf total = row.total;
    for (int v = 0; v < kVectors; ++v) {
      const vf weight = exp2_negative(x[v]);
      total = total + weight;
      store_weights(weights[r] + done + v * kLanes,
                    kScaled ? weight * load_f32(value_scale + v * kLanes) : weight);
    }
    row.total = total;
  }
}

// Weights of a row, none below 0, as u8; returns their scale.
static inline float round_weights(const float* weights, int n, uint8_t* out) {
  vf largest = load_f32(weights);
  for (int i = kLanes; i < n; i += kLanes) largest = max(largest, load_f32(weights + i));
  const float peak = largest_of(largest);
  const vf factor = splat(255 / peak);
  store_bytes(out, n, [&](int i) { return round_i32(load_f32(weights + i) * factor); });
  return peak * (1.0f / 255);
}

template <class T>
static void attention(const HeadAttention& h) {
  constexpr int kGroup = group_values<T>();
  constexpr bool kRounds = T::kScaledSums;
  using Weight = decltype(weight_of(T{}));
  constexpr int64_t kKeyBytes = kHead64 / kGroup * T::kBBytes;    // of a key in its panel
  constexpr int64_t kValueBytes = kPanel / kGroup * T::kBBytes;   // of a key in a panel of values
  alignas(64) char q[kAttentionRows][kHead64 * sizeof(typename T::Element)];
  alignas(64) Weight weights[kTileRows][kKeysAtOnce];
  alignas(64) uint8_t rounded[kTileRows][kRounds ? kKeysAtOnce : 1];
  float weight_scale[kTileRows], ones[kPanel];
  int32_t zeros[kPanel];
  for (int i = 0; i < kPanel; ++i) ones[i] = 1, zeros[i] = 0;
  RowState states[kAttentionRows];
  float q_scale[kAttentionRows];
  vf sums[kTileRows][kVectors];
  for (int r = 0; r < h.rows; ++r) {
    q_scale[r] = to_factor(T{}, h.q + r * h.q_stride, kHead64, q[r], kLog2e / 8);
    states[r].peak = 0;
    states[r].total = splat(0);
    for (vf& out : states[r].out) out = splat(0);
  }
  const int all_keys = padded_keys(h.n_keys);
  const char *keys = static_cast<const char*>(h.k), *values = static_cast<const char*>(h.v);
  const auto* key_scale = reinterpret_cast<const float*>(keys + int64_t(all_keys) * kHead64);  // of int8 ones
  const auto* key_start = reinterpret_cast<const int32_t*>(key_scale + all_keys);
  const auto* value_scale = reinterpret_cast<const float*>(values + int64_t(all_keys) * kHead64);
  constexpr int kStep = kRounds ? kKeysRounded : kKeysAtOnce;
  constexpr int kUnit = kPanel < 4 * kLanes ? 4 * kLanes : kPanel;  // whole panels, and whole vectors of bytes
  for (int key = 0; key < h.n_keys; key += kStep) {
    const int left = (h.n_keys - key + kUnit - 1) / kUnit * kUnit, count = left < kStep ? left : kStep;
    const bool last = left <= count;
    const char* next_keys = last ? static_cast<const char*>(h.next_k) : keys + (key + count) * kKeyBytes;
    const char* next_values = last ? static_cast<const char*>(h.next_v) : values + (key + count) * kValueBytes;
    for (int row = 0; row < h.rows; row += kTileRows) {
      const int rows = h.rows - row < kTileRows ? h.rows - row : kTileRows;
      for (int done = 0; done < count; done += kPanel) {
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(-states[row + r].peak);
        const int first = key + done;
        const Scales scales = {q_scale + row, 1, key_scale + first, key_start + first};
        any_tile<T>(rows, q[row], sizeof(q[0]), keys + first * kKeyBytes, kHead64 / kGroup, scales, next_keys, sums);
        next_keys += kHead64 / kGroup / kAheadSteps * 64;
        weigh<kRounds>(sums, rows, h.n_keys - first, value_scale + first, states + row, weights, done, first == 0);
      }
      const char* factors = reinterpret_cast<char*>(weights[0]);
      int64_t factor_stride = sizeof(weights[0]);
      if constexpr (kRounds) {
        for (int r = 0; r < rows; ++r) weight_scale[r] = round_weights(weights[r], count, rounded[r]);
        factors = reinterpret_cast<char*>(rounded[0]);
        factor_stride = sizeof(rounded[0]);
      }
      for (int panel = 0; panel < kHead64 / kPanel; ++panel) {
        const int64_t at = (int64_t(panel) * all_keys + key) * kValueBytes;
        const int vector = panel * kVectors;
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < kVectors; ++v) sums[r][v] = states[row + r].out[vector + v];
        any_tile<T>(rows, factors, factor_stride, values + at, count / kGroup, {weight_scale, 1, ones, zeros},
                    next_values + int64_t(panel) * all_keys * kValueBytes, sums);
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < kVectors; ++v) states[row + r].out[vector + v] = sums[r][v];
      }
      next_values += count / kGroup / kAheadSteps * 64;
    }
  }
  for (int r = 0; r < h.rows; ++r) {
    const vf scale = splat(1 / sum_of(states[r].total));
    for (int i = 0; i < kHead64 / kLanes; ++i) store_f32(h.out + r * h.out_stride + i * kLanes, states[r].out[i] * scale);
  }
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

// Keys of 4 bytes a group are turned kLanes at a time where they begin a vector of a panel: rows [kLanes][words] of 4 bytes
// each become columns of `out`, rows of the panel. Others go one by one.
static inline void turn(const int32_a* rows, int words, int32_t* out) {
  for (int word = 0; word < words; ++word) {
    __builtin_prefetch(out + word * kPanel + kLanes, 1);
    store_i32(out + word * kPanel, gather_i32(rows + word, words));
  }
}

template <class S>
static void pack_keys(const PackHead& p) {
  constexpr int kGroup = S::kGroup;
  using Value = typename S::Value;
  alignas(64) Value values[kLanes][kHead64];
  auto* out = static_cast<Value*>(p.out);
  for (int r = 0, n; r < p.rows; r += n) {
    const int key = p.first + r;
    auto* column = out + (int64_t(key / kPanel) * kHead64 * kPanel + key % kPanel * kGroup);
    n = sizeof(Value) * kGroup == 4 && key % kLanes == 0 && r + kLanes <= p.rows ? kLanes : 1;
    for (int i = 0; i < n; ++i) S::row(p.x + (r + i) * p.x_stride, values[i]);
    if (n == kLanes) {
      turn(reinterpret_cast<int32_a*>(values), kHead64 / kGroup, reinterpret_cast<int32_t*>(column));
    } else {
      for (int d = 0; d < kHead64; d += kGroup)
        for (int i = 0; i < kGroup; ++i) column[d * kPanel + i] = values[0][d + i];
    }
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
  alignas(64) int8_t values[kLanes][kHead64];
  auto* out = static_cast<int8_t*>(p.out);
  auto* scale = reinterpret_cast<float*>(out + int64_t(p.n_keys) * kHead64);
  auto* start = reinterpret_cast<int32_t*>(scale + p.n_keys);
  for (int r = 0, n; r < p.rows; r += n) {
    const int key = p.first + r;
    int8_t* column = out + (int64_t(key / kPanel) * kHead64 * kPanel + key % kPanel * 4);
    n = key % kLanes == 0 && r + kLanes <= p.rows ? kLanes : 1;
    for (int i = 0; i < n; ++i) {
      scale[key + i] = round_row(p.x + (r + i) * p.x_stride, values[i]);
      int sum = 0;
      for (int d = 0; d < kHead64; ++d) sum += values[i][d];
      start[key + i] = -kOffset * sum;
    }
    if (n == kLanes) {
      turn(reinterpret_cast<int32_a*>(values), kHead64 / 4, reinterpret_cast<int32_t*>(column));
    } else {
      for (int d = 0; d < kHead64; d += 4) __builtin_memcpy(column + d * kPanel, values[0] + d, 4);
    }
  }
}

static void pack_values_i8(const PackHead& p) {
  auto* out = static_cast<uint8_t*>(p.out);
  auto* scale = reinterpret_cast<float*>(out + int64_t(p.n_keys) * kHead64);
  for (int r = 0, n; r < p.rows; r += n) {
    alignas(64) uint8_t values[4][kHead64];
    const int key = p.first + r;
    n = key % 4 == 0 && r + 4 <= p.rows ? 4 : 1;
    for (int i = 0; i < n; ++i)
      scale[key + i] = round_row(p.x + (r + i) * p.x_stride, reinterpret_cast<int8_t*>(values[i]));
    for (int panel = 0; panel < kHead64 / kPanel; ++panel) {
      uint8_t* quads = out + (int64_t(panel) * p.n_keys + key / 4 * 4) * kPanel;
      const uint8_t* x = values[0] + panel * kPanel;
      if (n == 4) {
        auto* words = reinterpret_cast<int32_a*>(quads);
        for (int i = 0; i < kPanel; ++i)
          words[i] = x[i] | x[kHead64 + i] << 8 | x[2 * kHead64 + i] << 16 | int32_t(uint32_t(x[3 * kHead64 + i]) << 24);
      } else {
        for (int i = 0; i < kPanel; ++i) quads[i * 4 + key % 4] = x[i];
      }
    }
  }
}
