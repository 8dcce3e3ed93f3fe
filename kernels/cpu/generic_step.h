// What a step of the decoder does besides products: a row's attention over its own past, and the scan of its logits;
// included by each instruction set's file (see generic.h).
//
// Roofline of the past: keys and values of a head, 128 bytes each in f16, are read once for each row, from the first cache
// where rows of a beam share them: 8 multiply-adds a position and, with AVX-512, 3 more operations for the sums of each.
// Of the scan: two passes over logits that lie in the second cache, the second with 13 operations for each vector.

static inline vf load_past(StoreF32, const float* x) { return load_f32(x); }
#ifdef SOTTO_HAS_F16
static inline vf load_past(StoreF16, const uint16_t* x) { return load_f16(x); }
#endif

template <class S>
static void store_past(const float* x, void* out) {
  S::row(x, static_cast<typename S::Value*>(out));
}

template <class S>
static void past_attention(const PastAttention& p) {
  using Value = typename S::Value;
  constexpr int kVectorsOfHead = kHead64 / kLanes, kChains = 2;  // chains: sums that don't wait for each other
  const auto at = [&](const void* base, int t) {
    return static_cast<const Value*>(base) + (int64_t(p.table[t]) * kPastLimit + t) * kHead64;
  };
  alignas(64) float weights[kPastLimit + kLanes];
  vf q[kVectorsOfHead];
  for (int i = 0; i < kVectorsOfHead; ++i) q[i] = load_f32(p.q + i * kLanes) * splat(kLog2e / 8);
  vf largest = splat(-1e30f);
  for (int t = 0; t < p.n; t += kLanes) {
    vf sum[kLanes];
    for (int j = 0; j < kLanes; ++j) {
      const int position = t + j < p.n ? t + j : p.n - 1;
      const Value *k = at(p.k, position), *v = at(p.v, position);
      for (int i = 0; i < kHead64 * int(sizeof(Value)); i += 64) __builtin_prefetch(reinterpret_cast<const char*>(v) + i);
      sum[j] = q[0] * load_past(S{}, k);
      for (int i = 1; i < kVectorsOfHead; ++i) sum[j] = fma(q[i], load_past(S{}, k + i * kLanes), sum[j]);
    }
    const vf scores = sums_of(sum);
    largest = max(largest, scores);
    store_f32(weights + t, scores);
  }
  for (int t = p.n; t % kLanes; ++t) weights[t] = -1e30f;
  const vf peak = splat(largest_of(largest));
  vf total = splat(0);
  for (int t = 0; t < p.n; t += kLanes) {
    const vf weight = exp2_negative(load_f32(weights + t) - peak);
    total = total + weight;
    store_f32(weights + t, weight);
  }
  vf out[kChains][kVectorsOfHead];
  for (int c = 0; c < kChains; ++c)
    for (int i = 0; i < kVectorsOfHead; ++i) out[c][i] = splat(0);
  for (int t = 0; t < p.n; t += kChains)
    for (int c = 0; c < kChains; ++c) {
      const Value* v = at(p.v, t + c < p.n ? t + c : p.n - 1);
      const vf weight = splat(t + c < p.n ? weights[t + c] : 0);
      for (int i = 0; i < kVectorsOfHead; ++i) out[c][i] = fma(weight, load_past(S{}, v + i * kLanes), out[c][i]);
    }
  const vf scale = splat(1 / sum_of(total));
  for (int i = 0; i < kVectorsOfHead; ++i) {
    for (int c = 1; c < kChains; ++c) out[0][i] = out[0][i] + out[c][i];
    store_f32(p.out + i * kLanes, out[0][i] * scale);
  }
}

constexpr float kMasked = -__builtin_inff();

// A value that at least `wanted` logits reach: of the largest of each lane, the one at that place. Equal ones count once,
// which can only make it smaller.
static inline float surely_reached(vf* lanes, int n, int wanted) {
  float value = kMasked;
  for (int place = 0; place < wanted; ++place) {
    vf largest = lanes[0];
    for (int v = 1; v < n; ++v) largest = max(largest, lanes[v]);
    value = largest_of(largest);
    const vf limit = splat(value);
    for (int v = 0; v < n; ++v) lanes[v] = lanes[v] < limit ? lanes[v] : splat(kMasked);
  }
  return value;
}

// Sums run in lanes, then over the lanes: the order depends on the instruction set alone. n need not be whole vectors.
static LogitScan scan(const float* logits, int n, int wanted, int32_t* places) {
  constexpr int kScanVectors = kScanLanes / kLanes;
  const int whole = n / kLanes * kLanes;
  alignas(64) float rest[kLanes];
  for (int j = 0; j < kLanes; ++j) rest[j] = whole + j < n ? logits[whole + j] : kMasked;
  vf lanes[kScanVectors];
  for (int v = 0; v < kScanVectors; ++v) lanes[v] = splat(kMasked);
  lanes[0] = load_f32(rest);
  for (int i = 0; i < whole; i += kLanes * kScanVectors)
    for (int v = 0; v < kScanVectors; ++v)
      if (i + v * kLanes < whole) lanes[v] = max(lanes[v], load_f32(logits + i + v * kLanes));
  vf largest = lanes[0];
  for (int v = 1; v < kScanVectors; ++v) largest = max(largest, lanes[v]);
  const float peak = largest_of(largest);
  if (!(peak > kMasked)) return {peak, 0, 0};
  float reached = wanted == 1 ? peak : surely_reached(lanes, kScanVectors, wanted);
  if (!(reached > kMasked)) reached = -3.402823466e38f;  // few logits: all that are not masked
  const vf shift = splat(peak * -kLog2e), limit = splat(reached);
  vf total = splat(0);
  int found = 0;
  for (int i = 0; i < n; i += kLanes) {
    const float* values = i == whole ? rest : logits + i;
    const vf x = load_f32(values);
    total = total + exp2_negative(fma(x, splat(kLog2e), shift));
    if (any_at_least(x, limit))
      for (int j = 0; j < kLanes; ++j)
        if (values[j] >= reached) places[found++] = i + j;
  }
  return {peak, sum_of(total), found};
}
