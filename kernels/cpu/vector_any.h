// A vector of 16 bytes in the compiler's own terms, for machines without kernels of their own; included inside a
// namespace that has defined kVectors and kTileRows.
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
constexpr int kLanes = 4;

static inline vf splat(float x) { return vf{x, x, x, x}; }
static inline vi splat_i32(int x) { return vi{x, x, x, x}; }
static inline vf load_f32(const float* x) {
  vf result;
  __builtin_memcpy(&result, x, sizeof(result));
  return result;
}
static inline vi load_i32(const int32_t* x) {
  vi result;
  __builtin_memcpy(&result, x, sizeof(result));
  return result;
}
static inline void store_f32(float* to, vf x) { __builtin_memcpy(to, &x, sizeof(x)); }
static inline void store_i32(int32_t* to, vi x) { __builtin_memcpy(to, &x, sizeof(x)); }
template <class Word>
static inline vi gather_i32(const Word* x, int stride) { return vi{x[0], x[stride], x[2 * stride], x[3 * stride]}; }
static inline void store_u8(uint8_t* to, vi a, vi b, vi c, vi d) {
  const vi all[4] = {a, b, c, d};
  for (int i = 0; i < 4 * kLanes; ++i) {
    const int x = all[i / kLanes][i % kLanes];
    to[i] = uint8_t(x < 0 ? 0 : x > 255 ? 255 : x);
  }
}
static inline vf fma(vf a, vf b, vf c) { return a * b + c; }
static inline vf add_product(vf sum, vf a, vf b) { return sum + a * b; }
static inline vf max(vf a, vf b) { return a > b ? a : b; }
static inline vf abs(vf x) { return x < 0 ? -x : x; }
static inline vf reciprocal(vf x) { return 1 / x; }
static inline vi round_i32(vf x) {  // |x| < 2^22: the sum has no bits below 1
  const vf moved = x + 12582912.0f;
  return (vi)moved - 0x4b400000;
}
static inline vf from_i32(vi x) { return __builtin_convertvector(x, vf); }
static inline vf fraction(vf x) { return x - from_i32(round_i32(x - 0.5f)); }  // 0 to 1, both included
static inline vf times_power_of_2(vf x, vf power) {  // x * 2^(power - fraction(power))
  return (vf)((vi)x + (round_i32(power - 0.5f) << 23));
}
static inline float sum_of(vf x) { return (x[0] + x[2]) + (x[1] + x[3]); }
static inline float largest_of(vf x) {
  const float a = x[0] > x[2] ? x[0] : x[2], b = x[1] > x[3] ? x[1] : x[3];
  return a > b ? a : b;
}
static inline vf sums_of(const vf (&x)[kLanes]) {  // lane i: the sum of x[i]
  const vf a = __builtin_shuffle(x[0], x[1], vi{0, 4, 1, 5}) + __builtin_shuffle(x[0], x[1], vi{2, 6, 3, 7});
  const vf b = __builtin_shuffle(x[2], x[3], vi{0, 4, 1, 5}) + __builtin_shuffle(x[2], x[3], vi{2, 6, 3, 7});
  return __builtin_shuffle(a, b, vi{0, 1, 4, 5}) + __builtin_shuffle(a, b, vi{2, 3, 6, 7});
}
static inline bool any_at_least(vf x, vf limit) {
  const vi is = x >= limit;
  return (is[0] | is[1] | is[2] | is[3]) != 0;
}
static inline vi dot_by_bytes(vi sum, vi a, vi b) {
  for (int byte = 0; byte < 32; byte += 8) sum += (a >> byte & 255) * (b << (24 - byte) >> 24);
  return sum;
}
