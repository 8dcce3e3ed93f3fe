// Products of packed panels; included by each instruction set's file inside its own namespace (see generic.h).
//
// Roofline: a tile of kTileRows x kPanel sums stays in registers while k runs; each step of k takes kVectors loads of B,
// kTileRows broadcasts of A and kTileRows * kVectors multiply-adds, so both multiply ports are busy and loads are not.
// k is cut into chunks of kChunk groups, whose B (kPanel * kChunk * 4 bytes: 32 KB) stays in the first cache while
// all row tiles of a block pass over it. Below kTileRows rows the product is bound by the reading of B.

constexpr int kPanel = kLanes * kVectors;
constexpr int kChunk = 128;     // groups; of int8, as many as have one scale
constexpr int kBlockRows = 96;  // rows under one chunk

struct OfF32 {
  static constexpr bool kScaledSums = false;
  using Element = float;
  using Sum = vf;
  using Factor = vf;
  static constexpr int kABytes = 4, kBBytes = 4;  // of a group
  static inline Factor broadcast(const char* a) { return splat(*reinterpret_cast<const float*>(a)); }
  static inline Factor load(const char* b) { return load_f32(reinterpret_cast<const float*>(b)); }
  static inline Sum first(const float* x) { return load_f32(x); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return fma(a, b, sum); }
};

#ifdef SOTTO_HAS_F16
struct OfF16 : OfF32 {
  static constexpr int kBBytes = 2;
  static inline Factor load(const char* b) { return load_f16(reinterpret_cast<const uint16_t*>(b)); }
};
#endif

struct OfS8 : OfF32 {  // A f32, B int8, whose scales are in A: values of a head
  static constexpr int kBBytes = 1;
  static inline Factor load(const char* b) { return load_i8(reinterpret_cast<const int8_t*>(b)); }
};

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

// sums[kRows][kPanel] += A[kRows][groups] * B[groups][kPanel].
template <class T, int kRows>
static inline void tile(const char* a, int64_t a_stride, const char* b, int groups, const Scales& scales,
                        vf (*sums)[kVectors]) {
  typename T::Sum sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (T::kScaledSums) {
        sum[r][v] = load_i32(scales.start + v * kLanes);
      } else {
        sum[r][v] = sums[r][v];
      }
    }
  for (int g = 0; g < groups; ++g) {
    typename T::Factor column[kVectors];
    for (int v = 0; v < kVectors; ++v) column[v] = T::load(b + v * kLanes * T::kBBytes);
    for (int r = 0; r < kRows; ++r) {
      const typename T::Factor factor = T::broadcast(a + r * a_stride);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = T::multiply_add(sum[r][v], factor, column[v]);
    }
    a += T::kABytes;
    b += kPanel * T::kBBytes;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (T::kScaledSums) {
        const vf scale = splat(scales.a[r * scales.a_stride]) * load_f32(scales.b + v * kLanes);
        sums[r][v] = fma(from_i32(sum[r][v]), scale, sums[r][v]);
      } else {
        sums[r][v] = sum[r][v];
      }
    }
}

// Any number of rows: whole tiles, then the rest.
template <class T>
static void tiles(const char* a, int64_t a_stride, int rows, const char* b, int groups, Scales scales,
                  vf (*sums)[kVectors]) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    tile<T, kTileRows>(a, a_stride, b, groups, scales, sums);
    a += kTileRows * a_stride;
    scales.a += kTileRows * scales.a_stride;
    sums += kTileRows;
  }
  switch (rows) {
    case 5: return tile<T, 5>(a, a_stride, b, groups, scales, sums);
    case 4: return tile<T, 4>(a, a_stride, b, groups, scales, sums);
    case 3: return tile<T, 3>(a, a_stride, b, groups, scales, sums);
    case 2: return tile<T, 2>(a, a_stride, b, groups, scales, sums);
    case 1: return tile<T, 1>(a, a_stride, b, groups, scales, sums);
  }
}

template <Epilogue kEpilogue>
static inline void finish(const Product& p, int row0, int rows, int panel, const vf (*sums)[kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    const int column = panel * kPanel + v * kLanes;
    const vf bias = p.bias ? load_f32(p.bias + column) : splat(0);
    for (int r = 0; r < rows; ++r) {
      float* c = p.c + (row0 + r) * p.c_stride + column;
      vf value = sums[r][v] + bias;
      if (kEpilogue == Epilogue::add) value = value + load_f32(c);
      if (kEpilogue == Epilogue::gelu) value = gelu(value);
      store_f32(c, value);
    }
  }
}

template <class T>
static void product(const Product& p) {
  constexpr int kGroups = T::kScaledSums ? kScaled / 4 : kChunk;
  const int64_t chunks = (p.groups + kGroups - 1) / kGroups;
  vf sums[kBlockRows][kVectors];
  for (int panel = p.first_panel; panel < p.last_panel; ++panel) {
    for (int row0 = 0; row0 < p.rows; row0 += kBlockRows) {
      const int rows = p.rows - row0 < kBlockRows ? p.rows - row0 : kBlockRows;
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(0);
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t group = chunk * kGroups, at = chunk * p.b_stride + panel * kPanel;
        const int groups = p.groups - group < kGroups ? int(p.groups - group) : kGroups;
        const Scales scales = {p.a_scale + row0 * p.a_scale_stride + chunk, p.a_scale_stride, p.b_scale + at,
                               p.b_start + at};
        tiles<T>(static_cast<const char*>(p.a) + row0 * p.a_stride + group * T::kABytes, p.a_stride, rows,
                 static_cast<const char*>(p.b) + (int64_t(panel) * p.groups + group) * kPanel * T::kBBytes, groups,
                 scales, sums);
      }
      switch (p.epilogue) {
        case Epilogue::store: finish<Epilogue::store>(p, row0, rows, panel, sums); break;
        case Epilogue::add: finish<Epilogue::add>(p, row0, rows, panel, sums); break;
        case Epilogue::gelu: finish<Epilogue::gelu>(p, row0, rows, panel, sums); break;
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
