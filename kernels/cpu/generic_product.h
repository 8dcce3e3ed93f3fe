// Products of packed panels; included by each instruction set's file inside its own namespace (see generic.h).
//
// Roofline: a tile of kTileRows x kPanel sums stays in registers while k runs; each step of k takes kVectors loads of B,
// kTileRows broadcasts of A and kTileRows * kVectors multiply-adds, so both multiply ports are busy and loads are not.
// The panel of B that all row tiles of a block pass over lies in the second cache (kDepth groups of 256 bytes: 128 KB), as
// A does: a tile runs at 98 % of the multiply rate from there (AVX-512, f32, Ice Lake). It wouldn't from the last cache,
// whose latency no window of instructions covers: so each tile fetches its part of the panel that comes next.
// Below kTileRows rows the product is bound by the reading of B.

constexpr int kPanel = kLanes * kVectors;
constexpr int kDepth = 512;      // groups under one tile where k is longer than kWholeDepth
constexpr int kWholeDepth = 1280;
constexpr int kAheadSteps = 4;   // groups for each cache line fetched ahead

struct OfF32 {
  static constexpr bool kScaledSums = false;
  using Element = float;
  using Sum = vf;
  using Factor = vf;
  static constexpr int kABytes = 4, kBBytes = 4;  // of a group
  static inline Factor broadcast(const char* a) { return splat(*reinterpret_cast<const float*>(a)); }
  static inline Factor load(const char* b) { return load_f32(reinterpret_cast<const float*>(b)); }
  static inline Sum first(const float* x) { return load_f32(x); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return add_product(sum, a, b); }
};

#ifdef SOTTO_HAS_F16
struct OfF16 : OfF32 {
  static constexpr int kBBytes = 2;
  static inline Factor load(const char* b) { return load_f16(reinterpret_cast<const uint16_t*>(b)); }
};
#endif

struct OfI8 {
  using Element = uint8_t;
  static constexpr bool kScaledSums = true;
  using Sum = vi;
  using Factor = vi;
  static constexpr int kABytes = 4, kBBytes = 4;
  static inline Factor broadcast(const char* a) { return splat_i32(*reinterpret_cast<const int32_a*>(a)); }
  static inline Factor load(const char* b) { return load_i32(reinterpret_cast<const int32_t*>(b)); }
  static inline Sum first(const float* x) { return load_i32(reinterpret_cast<const int32_a*>(x)); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return dot_u8_i8(sum, a, b); }
};

#ifdef SOTTO_HAS_BF16
struct OfBf16 {
  static constexpr bool kScaledSums = false;
  using Element = uint16_t;
  using Sum = vf;
  using Factor = vi;
  static constexpr int kABytes = 4, kBBytes = 4;
  static inline Factor broadcast(const char* a) { return splat_i32(*reinterpret_cast<const int32_a*>(a)); }
  static inline Factor load(const char* b) { return load_i32(reinterpret_cast<const int32_t*>(b)); }
  static inline Sum first(const float* x) { return load_f32(x); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return dot_bf16(sum, a, b); }
};
#endif

// What turns int32 sums into f32 ones: of one chunk of a panel.
struct Scales {
  const float* a;         // of row r: a[r * a_stride]
  int64_t a_stride;
  const float* b;         // [kPanel]
  const int32_t* start;   // [kPanel]
};

// Work to do beside a tile's multiplications, in turns: called with 0, 1, ... after each kSteps groups.
struct Nothing {
  void operator()(int) const {}
};

// Where sums of a tile are: kVectors from row r on at x + r * stride. They go on from there,
// or begin with from[r * from_stride].
struct Sums {
  vf* x;
  int64_t stride;
  vf& operator()(int r, int v) const { return x[r * stride + v]; }
  vf start(int r, int v) const { return x[r * stride + v]; }
};
struct SumsFrom : Sums {
  const float* from;
  int64_t from_stride;
  vf start(int r, int) const { return splat(from[r * from_stride]); }
};

// sums[kRows][kPanel] += A[kRows][groups] * B[groups][kPanel], kSteps groups at once. ahead: memory to fetch while at it.
template <class T, int kRows, int kSteps, class S, class Beside = Nothing>
static __attribute__((noinline)) void tile(const char* a, int64_t a_stride, const char* b, int groups,
                                           const Scales& scales, const char* ahead, S sums, Beside beside = {}) {
  typename T::Sum sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (T::kScaledSums) {
        sum[r][v] = load_i32(scales.start + v * kLanes);
      } else {
        sum[r][v] = sums.start(r, v);
      }
    }
  for (int turn = 0; groups > 0; groups -= kSteps, ++turn) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += 64;
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; ++i) {
      typename T::Factor column[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) column[v] = T::load(b + (i * kVectors + v) * kLanes * T::kBBytes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const typename T::Factor factor = T::broadcast(a + r * a_stride + i * T::kABytes);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r][v] = T::multiply_add(sum[r][v], factor, column[v]);
      }
    }
    a += kSteps * T::kABytes;
    b += kSteps * kPanel * T::kBBytes;
    beside(turn);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (T::kScaledSums) {
        const vf scaled = from_i32(sum[r][v]) * load_f32(scales.b + v * kLanes);
        sums(r, v) = fma(scaled, splat(scales.a[r * scales.a_stride]), sums.start(r, v));
      } else {
        sums(r, v) = sum[r][v];
      }
    }
}

template <class T, int kSteps, class S>
static inline void tile_of(int rows, const char* a, int64_t a_stride, const char* b, int groups, const Scales& scales,
                           const char* ahead, S sums) {
  switch (rows) {
    case 1: return tile<T, 1, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
    case 2: return tile<T, 2, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
    case 3: return tile<T, 3, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
    case 4: return tile<T, 4, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
    case 5: return tile<T, 5, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
    default: return tile<T, kTileRows, kSteps>(a, a_stride, b, groups, scales, ahead, sums);
  }
}

// 1 to kTileRows rows. Of int8, `groups` is a multiple of kAheadSteps.
template <class T, class S>
static inline void any_tile(int rows, const char* a, int64_t a_stride, const char* b, int groups, const Scales& scales,
                            const char* ahead, S sums) {
  const int whole = groups / kAheadSteps * kAheadSteps;
  if (whole > 0) tile_of<T, kAheadSteps>(rows, a, a_stride, b, whole, scales, ahead, sums);
  if constexpr (!T::kScaledSums) {
    if (whole < groups)
      tile_of<T, 1>(rows, a + whole * T::kABytes, a_stride, b + int64_t(whole) * kPanel * T::kBBytes, groups - whole,
                    scales, ahead, sums);
  }
}

template <Epilogue kEpilogue>
static inline void finish(const float* bias, int rows, const vf (*sums)[kVectors], float* c, int64_t c_stride) {
  for (int v = 0; v < kVectors; ++v) {
    const vf of_column = bias ? load_f32(bias + v * kLanes) : splat(0);
    for (int r = 0; r < rows; ++r) {
      float* at = c + r * c_stride + v * kLanes;
      vf value = sums[r][v] + of_column;
      if (kEpilogue == Epilogue::add) value = value + load_f32(at);
      if (kEpilogue == Epilogue::gelu) value = gelu(value);
      store_f32(at, value);
    }
  }
}

// Sums that k hasn't ended for wait in C, or are part of it already where C is added to.
template <class T>
static void product(const Product& p) {
  constexpr int kStretch = T::kScaledSums ? kScaled / 4 : kDepth;
  constexpr int64_t kGroupBytes = kPanel * T::kBBytes;
  const int depth = p.groups > kWholeDepth ? kDepth : p.groups;
  const bool adds = p.epilogue == Epilogue::add;
  vf sums[kTileRows][kVectors];
  for (int first = 0; first < p.groups; first += depth) {
    const int last = p.groups - first < depth ? p.groups : first + depth;
    for (int panel = p.first_panel; panel < p.last_panel; ++panel) {
      const char* b = static_cast<const char*>(p.b) + int64_t(panel) * p.b_panel_bytes + first * kGroupBytes;
      const char* ahead = b + p.b_panel_bytes;  // past the last panel: most often what is read next
      const float* bias = p.bias && last == p.groups ? p.bias + panel * kPanel : nullptr;
      for (int row = 0; row < p.rows; row += kTileRows) {
        const int rows = p.rows - row < kTileRows ? p.rows - row : kTileRows;
        float* c = p.c + row * p.c_stride + panel * kPanel;
        const bool starts_at_0 = adds || (first == 0 && !p.goes_on);
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + r * p.c_stride + v * kLanes, 1);
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < kVectors; ++v)
            sums[r][v] = starts_at_0 ? splat(0) : load_f32(c + r * p.c_stride + v * kLanes);
        for (int group = first; group < last; group += kStretch) {
          const int64_t chunk = group / kStretch, at = chunk * p.b_stride + panel * kPanel;
          const Scales scales = {p.a_scale + row * p.a_scale_stride + chunk, p.a_scale_stride, p.b_scale + at,
                                 p.b_start + at};
          const int groups = last - group < kStretch ? last - group : kStretch;
          any_tile<T>(rows, static_cast<const char*>(p.a) + row * p.a_stride + group * T::kABytes, p.a_stride,
                      b + (group - first) * kGroupBytes, groups, scales, ahead, Sums{sums[0], kVectors});
          ahead += groups / kAheadSteps * 64;
        }
        const Epilogue epilogue = adds ? Epilogue::add : last == p.groups ? p.epilogue : Epilogue::store;
        switch (epilogue) {
          case Epilogue::store: finish<Epilogue::store>(bias, rows, sums, c, p.c_stride); break;
          case Epilogue::add: finish<Epilogue::add>(bias, rows, sums, c, p.c_stride); break;
          case Epilogue::gelu: finish<Epilogue::gelu>(bias, rows, sums, c, p.c_stride); break;
        }
      }
    }
  }
}

// The register tile alone: what a product could do if it never waited for memory. Each sum starts from another value of
// x [kTileRows * kVectors * kLanes], or the compiler would compute one for all.
template <class T>
static float multiply(int64_t steps, const float* x) {
  typename T::Sum sum[kTileRows][kVectors];
  for (int r = 0; r < kTileRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = T::first(x + (r * kVectors + v) * kLanes);
  const typename T::Factor a = T::load(reinterpret_cast<const char*>(x));
  const typename T::Factor b = T::load(reinterpret_cast<const char*>(x + kLanes));
  for (int64_t i = 0; i < steps; ++i)
    for (int r = 0; r < kTileRows; ++r)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = T::multiply_add(sum[r][v], a, b);
  vf total = splat(0);
  for (int r = 0; r < kTileRows; ++r)
    for (int v = 0; v < kVectors; ++v) total = total + vf(sum[r][v]);
  return sum_of(total);
}

constexpr int multiply_ops(int values_per_group) { return kTileRows * kPanel * 2 * values_per_group; }

static float read(const float* x, int64_t n) {
  vf sum[8];
  for (int v = 0; v < 8; ++v) sum[v] = splat(0);
  for (int64_t i = 0; i < n; i += 8 * kLanes)
    for (int v = 0; v < 8; ++v) sum[v] = sum[v] + load_f32(x + i + v * kLanes);
  for (int v = 1; v < 8; ++v) sum[0] = sum[0] + sum[v];
  return sum_of(sum[0]);
}
