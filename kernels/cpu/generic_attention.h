// Attention; included by each instruction set's file (see generic.h).
//
// Scores are never written for more than a tile of rows and a block of keys: each panel of keys is one product q kT
// (k = 64); its scores become weights; then comes one product p v over the block. Keys and values of a block stay in the
// second cache while all row tiles pass over them, and those of the next are fetched meanwhile. Where there are registers
// to spare, the scores of one tile become weights beside the products of others.
//
// Weights are powers of 2 of scores less the row's peak. The peak is one of the first block's; a later score may be above
// it by up to kSlack, which f32 holds as well, before the peak moves and what was summed up is rescaled.
// Roofline, for 16 scores of int8 (Zen 4): products 32 cycles, exp2 (3), scales and rounding (5) on the same ports: 40;
// max, the parting of exp2, sums and conversions have ports of their own. Measured: 47 (bf16: 64, 67, 76), and
// without any weighing or rounding 38.5 (72).

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

template <class T>
constexpr bool kRoughWeights = sizeof(typename T::Element) < 4;  // they are rounded to fewer bits than exp2 could have

// Weights as the product wants them: vector v of a row.
static inline void store_weights(OfF32, vf* row, int v, vf weight) { row[v] = weight; }
#ifdef SOTTO_HAS_BF16
static inline void store_weights(OfBf16, vf* row, int v, vf weight) {
  store_bf16(reinterpret_cast<uint16_t*>(row) + v * kLanes, weight);
}
#endif

template <class T>
constexpr int group_values() {
  return sizeof(typename T::Element) == 4 ? 1 : 4 / int(sizeof(typename T::Element));
}

// What one row has come to.
struct RowState {
  vf out[kHead64 / kLanes], total;  // of weights in lanes
  float minus_peak;
};
constexpr int kStateVectors = sizeof(RowState) / sizeof(vf);
constexpr float kSlack = 24;

// Attention of one head, in steps of one tile of rows and one block of keys: scores, peaks, weights, and their product with
// the values. What one step does is the same alone and beside another one's products, and so is its result.
template <class T>
struct AttentionPass {
  static constexpr int kGroup = group_values<T>();
  static constexpr bool kRounds = T::kScaledSums;
  static constexpr int kKeys = kRounds ? kScaled : 384;  // of a block, at most; those of bytes have one scale
  static constexpr int64_t kKeyBytes = kHead64 / kGroup * T::kBBytes;   // of a key in its panel
  static constexpr int64_t kValueBytes = kPanel / kGroup * T::kBBytes;  // of a key in a panel of values

  struct Step {
    int row, rows;   // the tile's
    int key, count;  // the block's
  };

  // Scores less the row's peak, which become weights in place, and these what the product wants: f32, bf16 or bytes, from
  // the row's beginning.
  struct Held {
    vf row[kTileRows][kKeys / kLanes];
    vf largest[kTileRows];    // of int8: the largest weights, in lanes
    float scale[kTileRows];   // of int8: of the bytes
  };

  const HeadAttention& h;
  static constexpr int kUnit = kPanel < 4 * kLanes ? 4 * kLanes : kPanel;  // whole panels, and whole vectors of bytes
  const int all_keys = padded_keys(h.n_keys), end = (h.n_keys + kUnit - 1) / kUnit * kUnit;  // in memory; to look at
  const char *keys = static_cast<const char*>(h.k), *values = static_cast<const char*>(h.v);
  const float* key_scale = reinterpret_cast<const float*>(keys + int64_t(all_keys) * kHead64);  // of int8 ones
  const int32_t* key_start = reinterpret_cast<const int32_t*>(key_scale + all_keys);
  const float* value_scale = reinterpret_cast<const float*>(values + int64_t(all_keys) * kHead64);
  alignas(64) char q[kAttentionRows][kHead64 * sizeof(typename T::Element)];
  float q_scale[kAttentionRows];
  RowState states[kAttentionRows];
  float ones[kPanel];
#ifdef SOTTO_WEIGHS_BESIDE
  float exp2_factors[7];  // read each time they are wanted: registers are for sums
#else
  static constexpr const float* exp2_factors = kRoughWeights<T> ? kRoughExp2Factors : kExp2Factors;
#endif
  int32_t zeros[kPanel];

  explicit AttentionPass(const HeadAttention& head) : h(head) {
    for (int i = 0; i < kPanel; ++i) ones[i] = 1, zeros[i] = 0;
#ifdef SOTTO_WEIGHS_BESIDE
    __builtin_memcpy(exp2_factors, kRoughWeights<T> ? kRoughExp2Factors : kExp2Factors,
                     kRoughWeights<T> ? sizeof(kRoughExp2Factors) : sizeof(kExp2Factors));
#endif
    for (int r = 0; r < h.rows; ++r) {
      q_scale[r] = to_factor(T{}, h.q + r * h.q_stride, kHead64, q[r], kLog2e / 8);
      states[r].minus_peak = 0;
      states[r].total = splat(0);
      for (vf& out : states[r].out) out = splat(0);
    }
  }

  template <class S, class Beside>
  static inline void product(int, const char* a, int64_t a_stride, const char* b, int groups, const Scales& scales,
                             const char* ahead, S sums, Beside beside) {
    tile<T, kTileRows, kAheadSteps>(a, a_stride, b, groups, scales, ahead, sums, beside);
  }
  template <class S>
  static inline void product(int rows, const char* a, int64_t a_stride, const char* b, int groups, const Scales& scales,
                             const char* ahead, S sums, Nothing) {
    any_tile<T>(rows, a, a_stride, b, groups, scales, ahead, sums);
  }

  static Nothing nothing(int) { return {}; }

  // beside(panel): what to do beside the product with that panel of keys.
  template <class Beside>
  void score(const Step& s, Held& held, const Beside& beside) const {
    const bool last = s.key + s.count >= end;
    const char* ahead = last ? static_cast<const char*>(h.next_k) : keys + (s.key + s.count) * kKeyBytes;
    ahead += s.row / kTileRows * (s.count / kPanel) * (kHead64 / kGroup / kAheadSteps * 64);
    for (int panel = 0; panel < s.count / kPanel; ++panel) {
      const int first = s.key + panel * kPanel;
      const SumsFrom sums = {{held.row[0] + panel * kVectors, kKeys / kLanes}, &states[s.row].minus_peak, sizeof(RowState) / 4};
      product(s.rows, q[s.row], sizeof(q[0]), keys + first * kKeyBytes, kHead64 / kGroup,
              {q_scale + s.row, 1, key_scale + first, key_start + first}, ahead, sums, beside(panel));
      ahead += kHead64 / kGroup / kAheadSteps * 64;
    }
    for (int key = h.n_keys; key < s.key + s.count; ++key)  // there is no such key
      for (int r = 0; r < s.rows; ++r) reinterpret_cast<float*>(held.row[r])[key - s.key] = -1e30f;
  }

  // The first block's rows, and those with a score above kSlack: moves the peak to the largest.
  void move_peaks(const Step& s, Held& held) {
    for (int r = 0; r < s.rows; ++r) {
      held.largest[r] = splat(0);
      vf largest = held.row[r][0];
      for (int v = 1; v < s.count / kLanes; ++v) largest = max(largest, held.row[r][v]);
      if (s.key > 0 && !any_at_least(largest, splat(kSlack))) continue;
      const float rise = largest_of(largest);
      for (int v = 0; v < s.count / kLanes; ++v) held.row[r][v] = held.row[r][v] - splat(rise);
      RowState& state = states[s.row + r];
      state.minus_peak -= rise;
      const vf shrink = exp2_negative(splat(s.key > 0 ? -rise : 0));
      state.total = state.total * shrink;
      for (vf& out : state.out) out = out * shrink;
    }
  }

  // n vectors of a row's scores become weights.
  inline __attribute__((always_inline)) void weigh(const Step& s, Held& held, int r, int first, int n) {
    vf total = states[s.row + r].total, largest = held.largest[r];
#pragma GCC unroll 4
    for (int v = first; v < first + n; ++v) {
      const vf weight = exp2_by<kRoughWeights<T> ? 3 : 5>(exp2_factors, held.row[r][v]);
      total = total + weight;
      if constexpr (kRounds) {
        held.row[r][v] = weight * load_f32(value_scale + s.key + v * kLanes);
        largest = max(largest, held.row[r][v]);
      } else {
        store_weights(T{}, held.row[r], v, weight);
      }
    }
    states[s.row + r].total = total;
    if constexpr (kRounds) held.largest[r] = largest;
  }

  void weigh(const Step& s, Held& held) {
    for (int r = 0; r < s.rows; ++r) weigh(s, held, r, 0, s.count / kLanes);
  }

  // Weights of a row become bytes.
  static inline void round(Held& held, int r, int count) {
    const float peak = largest_of(held.largest[r]);
    const vf factor = splat(255 / peak);
    const vf* weights = held.row[r];
    store_bytes(reinterpret_cast<uint8_t*>(held.row[r]), count, [&](int i) { return round_i32(weights[i / kLanes] * factor); });
    held.scale[r] = peak * (1.0f / 255);
  }

  template <class Beside>
  void multiply(const Step& s, Held& held, const Beside& beside) {
    const bool last = s.key + s.count >= end;
    const char* ahead = last ? static_cast<const char*>(h.next_v) : values + (s.key + s.count) * kValueBytes;
    ahead += s.row / kTileRows * (s.count / kGroup / kAheadSteps * 64);
    for (int panel = 0; panel < kHead64 / kPanel; ++panel) {
      const int64_t at = int64_t(panel) * all_keys * kValueBytes;
      product(s.rows, reinterpret_cast<const char*>(held.row[0]), sizeof(held.row[0]), values + at + s.key * kValueBytes,
              s.count / kGroup, {held.scale, 1, ones, zeros}, ahead + at,
              Sums{states[s.row].out + panel * kVectors, kStateVectors}, beside);
    }
  }

  void step_by_step(int first_row, int last_row) {
    Held held;
    for (int key = 0; key < end; key += kKeys) {
      for (int row = first_row; row < last_row; row += kTileRows) {
        const Step s = {row, last_row - row < kTileRows ? last_row - row : kTileRows, key,
                        end - key < kKeys ? end - key : kKeys};
        score(s, held, nothing);
        move_peaks(s, held);
        weigh(s, held);
        if constexpr (kRounds)
          for (int r = 0; r < s.rows; ++r) round(held, r, s.count);
        multiply(s, held, Nothing{});
      }
    }
  }

#ifdef SOTTO_WEIGHS_BESIDE
  struct Weighing {
    AttentionPass* pass;
    const Step& s;
    Held* held;
    int panel;
    inline void operator()(int turn) const {
      constexpr int kTurns = kHead64 / kGroup / kAheadSteps, kRows = (kTileRows + kTurns - 1) / kTurns;
      if (turn * kRows >= kTileRows) return;
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) pass->weigh(s, *held, turn * kRows + i, panel * kVectors, kVectors);
    }
  };
  struct Rounding {
    Held* held;
    inline void operator()(int turn) const {
      if (turn < kTileRows) round(*held, turn, kKeys);
    }
  };

  // While the scores of one step are computed, those of the one before become weights; these become bytes beside the
  // product of the one before that. The tiles' rows are others meanwhile: there are three or more.
  void beside_each_other(int tiles) {
    constexpr int kHeld = kRounds ? 3 : 2;
    Held held[kHeld];
    const int steps = tiles * (end / kKeys);
    const auto at = [&](int i) { return Step{i % tiles * kTileRows, kTileRows, i / tiles * kKeys, kKeys}; };
    for (int i = 0; i < steps + kHeld - 1; ++i) {
      Held &now = held[i % kHeld], &before = held[(i + kHeld - 1) % kHeld];
      const Step s = at(i), s_before = at(i - 1);
      if (i == 0) {
        score(s, now, nothing);
      } else if (i < steps) {
        score(s, now, [&](int panel) { return Weighing{this, s_before, &before, panel}; });
      } else if (i == steps) {
        weigh(s_before, before);
      }
      if (i < steps) move_peaks(s, now);
      if constexpr (kRounds) {
        if (i == 1)
          for (int r = 0; r < kTileRows; ++r) round(before, r, kKeys);
        // The last of these rounds what nobody reads.
        if (i >= 2) multiply(at(i - 2), held[(i + 1) % kHeld], Rounding{&before});
      } else {
        if (i >= 1) multiply(s_before, before, Nothing{});
      }
    }
  }
#endif

  void run() {
    int done = 0;
#ifdef SOTTO_WEIGHS_BESIDE
    const int tiles = h.rows / kTileRows;
    if (tiles >= 3 && end % kKeys == 0) {
      beside_each_other(tiles);
      done = tiles * kTileRows;
    }
#endif
    step_by_step(done, h.rows);
    for (int r = 0; r < h.rows; ++r) {
      const vf scale = splat(1 / sum_of(states[r].total));
      for (int i = 0; i < kHead64 / kLanes; ++i) store_f32(h.out + r * h.out_stride + i * kLanes, states[r].out[i] * scale);
    }
  }
};

template <class T>
static void attention(const HeadAttention& h) {
  AttentionPass<T>(h).run();
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
