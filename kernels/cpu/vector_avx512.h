// The vector of AVX-512 and what generic.h does with it; included inside a namespace.
typedef __m512 vf;
typedef __m512i vi;
constexpr int kLanes = 16;
constexpr int kVectors = 4;
constexpr int kTileRows = 6;  // 24 sums, 4 columns of B, 1 of A: 29 of 32 registers
#define SOTTO_WEIGHS_BESIDE  // attention's weights are made beside products: in the registers that columns leave for a while

static inline vf splat(float x) { return _mm512_set1_ps(x); }
static inline vi splat_i32(int x) { return _mm512_set1_epi32(x); }
static inline vf load_f32(const float* x) { return _mm512_loadu_ps(x); }
static inline vi load_i32(const int32_t* x) { return _mm512_loadu_si512(x); }
static inline vf load_f16(const uint16_t* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
static inline void store_f32(float* to, vf x) { _mm512_storeu_ps(to, x); }
static inline void store_i32(int32_t* to, vi x) { _mm512_storeu_si512(to, x); }
static inline vi gather_i32(const void* x, int stride) {
  const vi lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_i32gather_epi32(_mm512_mullo_epi32(lanes, splat_i32(stride)), x, 4);
}
static inline void store_f16(uint16_t* to, vf x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline void store_u8(uint8_t* to, vi a, vi b, vi c, vi d) {
  const vi bytes = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));  // quads of a, b, c, d in turns
  const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, bytes));
}
static inline vf fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf add_product(vf sum, vf a, vf b) { return _mm512_fmadd_ps(a, b, sum); }
static inline vf max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf abs(vf x) { return _mm512_abs_ps(x); }
static inline vf reciprocal(vf x) {  // one Newton step: 2^-23
  const vf first = _mm512_rcp14_ps(x);
  return first * (splat(2) - x * first);
}
static inline vi round_i32(vf x) { return _mm512_cvtps_epi32(x); }
static inline vf from_i32(vi x) { return _mm512_cvtepi32_ps(x); }
static inline vf fraction(vf x) { return _mm512_reduce_ps(x, 9); }  // x - floor(x)
static inline vf times_power_of_2(vf x, vf power) { return _mm512_scalef_ps(x, power); }  // x * 2^floor(power)
static inline float sum_of(vf x) { return _mm512_reduce_add_ps(x); }
static inline float largest_of(vf x) { return _mm512_reduce_max_ps(x); }
static inline vf sums_of(const vf (&x)[kLanes]) {  // lane i: the sum of x[i]
  vf four[4];
  for (int i = 0; i < 4; ++i) {
    vf two[2];
    for (int j = 0; j < 2; ++j) {
      const vf a = x[4 * i + 2 * j], b = x[4 * i + 2 * j + 1];
      two[j] = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b);
    }
    const __m512d a = _mm512_castps_pd(two[0]), b = _mm512_castps_pd(two[1]);
    four[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)) + _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
  }
  const vf low = _mm512_shuffle_f32x4(four[0], four[1], 0x88) + _mm512_shuffle_f32x4(four[0], four[1], 0xdd);
  const vf high = _mm512_shuffle_f32x4(four[2], four[3], 0x88) + _mm512_shuffle_f32x4(four[2], four[3], 0xdd);
  return _mm512_shuffle_f32x4(low, high, 0x88) + _mm512_shuffle_f32x4(low, high, 0xdd);
}
static inline bool any_at_least(vf x, vf limit) { return _mm512_cmp_ps_mask(x, limit, _CMP_GE_OQ) != 0; }
static inline vi dot_u8_i8(vi sum, vi a, vi b) {  // as asm: gcc 12 keeps the intrinsic's sums on the stack, 3 times slower
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
