// Products of packed panels; included by each instruction set's file inside its own namespace (see generic.h).
//
// Roofline: a tile of kTileRows x kPanel sums stays in registers while k runs; each step of k takes kVectors loads of B,
// kTileRows broadcasts of A and kTileRows * kVectors multiply-adds, so both multiply ports are busy and loads are not.
// k is cut into chunks of kChunk groups, whose B (kPanel * kChunk * 4 bytes: 32 KB) stays in the first cache while
// all row tiles of a block pass over it. Below kTileRows rows the product is bound by the reading of B.

constexpr int kPanel = kLanes * kVectors;
constexpr int kChunk = 128;     // groups
constexpr int kBlockRows = 96;  // rows under one chunk

struct OfF32 {
  using Element = float;
  using Sum = vf;
  using Factor = vf;
  static constexpr int kABytes = 4, kBBytes = 4;  // of a group
  static inline Factor broadcast(const char* a) { return splat(*reinterpret_cast<const float*>(a)); }
  static inline Factor load(const char* b) { return load_f32(reinterpret_cast<const float*>(b)); }
  static inline Sum start(const int32_t*, int) { return splat(0); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return fma(a, b, sum); }
};

#ifdef SOTTO_HAS_F16
struct OfF16 : OfF32 {
  static constexpr int kBBytes = 2;
  static inline Factor load(const char* b) { return load_f16(reinterpret_cast<const uint16_t*>(b)); }
};
#endif

struct OfI8 {
  using Sum = vi;
  using Factor = vi;
  static constexpr int kABytes = 4, kBBytes = 4;
  static inline Factor broadcast(const char* a) { return splat_i32(*reinterpret_cast<const int32_a*>(a)); }
  static inline Factor load(const char* b) { return load_i32(reinterpret_cast<const int32_t*>(b)); }
  static inline Sum start(const int32_t* at, int column) { return at ? load_i32(at + column) : splat_i32(0); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return dot_u8_i8(sum, a, b); }
};

#ifdef SOTTO_HAS_BF16
struct OfBf16 {
  using Element = uint16_t;
  using Sum = vf;
  using Factor = vi;
  static constexpr int kABytes = 4, kBBytes = 4;
  static inline Factor broadcast(const char* a) { return splat_i32(*reinterpret_cast<const int32_a*>(a)); }
  static inline Factor load(const char* b) { return load_i32(reinterpret_cast<const int32_t*>(b)); }
  static inline Sum start(const int32_t*, int) { return splat(0); }
  static inline Sum multiply_add(Sum sum, Factor a, Factor b) { return dot_bf16(sum, a, b); }
};
#endif

// sums[kRows][kPanel] += A[kRows][groups] * B[groups][kPanel].
template <class T, int kRows>
static inline void tile(const char* a, int64_t a_stride, const char* b, int groups, typename T::Sum (*sums)[kVectors]) {
  typename T::Sum sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = sums[r][v];
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
    for (int v = 0; v < kVectors; ++v) sums[r][v] = sum[r][v];
}

// Any number of rows: whole tiles, then the rest.
template <class T>
static void tiles(const char* a, int64_t a_stride, int rows, const char* b, int groups, typename T::Sum (*sums)[kVectors]) {
  for (; rows >= kTileRows; rows -= kTileRows, a += kTileRows * a_stride, sums += kTileRows)
    tile<T, kTileRows>(a, a_stride, b, groups, sums);
  switch (rows) {
    case 5: return tile<T, 5>(a, a_stride, b, groups, sums);
    case 4: return tile<T, 4>(a, a_stride, b, groups, sums);
    case 3: return tile<T, 3>(a, a_stride, b, groups, sums);
    case 2: return tile<T, 2>(a, a_stride, b, groups, sums);
    case 1: return tile<T, 1>(a, a_stride, b, groups, sums);
  }
}

static inline vf to_f32(vf sum, float, vf) { return sum; }
static inline vf to_f32(vi sum, float a_scale, vf b_scale) { return from_i32(sum) * splat(a_scale) * b_scale; }

template <class T, Epilogue kEpilogue>
static inline void finish(const Product& p, int row0, int rows, int panel, const typename T::Sum (*sums)[kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    const int column = panel * kPanel + v * kLanes;
    const vf bias = p.bias ? load_f32(p.bias + column) : splat(0);
    const vf b_scale = p.b_scale ? load_f32(p.b_scale + column) : splat(1);
    for (int r = 0; r < rows; ++r) {
      float* c = p.c + (row0 + r) * p.c_stride + column;
      vf value = to_f32(sums[r][v], p.a_scale ? p.a_scale[row0 + r] : 1, b_scale) + bias;
      if (kEpilogue == Epilogue::add) value = value + load_f32(c);
      if (kEpilogue == Epilogue::gelu) value = gelu(value);
      store_f32(c, value);
    }
  }
}

template <class T>
static void product(const Product& p) {
  typename T::Sum sums[kBlockRows][kVectors];
  for (int panel = p.first_panel; panel < p.last_panel; ++panel) {
    for (int row0 = 0; row0 < p.rows; row0 += kBlockRows) {
      const int rows = p.rows - row0 < kBlockRows ? p.rows - row0 : kBlockRows;
      for (int v = 0; v < kVectors; ++v) {
        const typename T::Sum start = T::start(p.b_start, panel * kPanel + v * kLanes);
        for (int r = 0; r < rows; ++r) sums[r][v] = start;
      }
      for (int group = 0; group < p.groups; group += kChunk) {
        const int groups = p.groups - group < kChunk ? p.groups - group : kChunk;
        tiles<T>(static_cast<const char*>(p.a) + row0 * p.a_stride + group * T::kABytes, p.a_stride, rows,
                 static_cast<const char*>(p.b) + (int64_t(panel) * p.groups + group) * kPanel * T::kBBytes, groups, sums);
      }
      switch (p.epilogue) {
        case Epilogue::store: finish<T, Epilogue::store>(p, row0, rows, panel, sums); break;
        case Epilogue::add: finish<T, Epilogue::add>(p, row0, rows, panel, sums); break;
        case Epilogue::gelu: finish<T, Epilogue::gelu>(p, row0, rows, panel, sums); break;
      }
    }
  }
}
