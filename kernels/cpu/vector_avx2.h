// The vector of AVX2 with FMA and F16C, and what generic.h does with it; included inside a namespace, after dot_u8_i8's
// instruction is chosen by SOTTO_HAS_VNNI: the form of it, if there is one.
typedef __m256 vf;
typedef __m256i vi;
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int kTileRows = 6;  // 12 sums, 2 columns of B, 1 of A: 15 of 16 registers

static inline vf splat(float x) { return _mm256_set1_ps(x); }
static inline vi splat_i32(int x) { return _mm256_set1_epi32(x); }
static inline vf load_f32(const float* x) { return _mm256_loadu_ps(x); }
static inline vi load_i32(const int32_t* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
static inline vf load_f16(const uint16_t* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
static inline void store_f32(float* to, vf x) { _mm256_storeu_ps(to, x); }
static inline void store_i32(int32_t* to, vi x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x); }
static inline vi gather_i32(const void* x, int stride) {
  const vi lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_i32gather_epi32(static_cast<const int*>(x), _mm256_mullo_epi32(lanes, splat_i32(stride)), 4);
}
static inline void store_f16(uint16_t* to, vf x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline void store_u8(uint8_t* to, vi a, vi b, vi c, vi d) {
  const vi bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));  // quads of a, b, c, d in turns
  const vi order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(bytes, order));
}
static inline vf fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
// In sum's own register: of a tile's twelve sums GCC, choosing among the forms of the instruction, keeps one in memory.
static inline vf add_product(vf sum, vf a, vf b) {
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  return sum;
}
static inline vf max(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf abs(vf x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
static inline vf reciprocal(vf x) {  // one Newton step: 2^-22
  const vf first = _mm256_rcp_ps(x);
  return first * (splat(2) - x * first);
}
static inline vi round_i32(vf x) { return _mm256_cvtps_epi32(x); }
static inline vf from_i32(vi x) { return _mm256_cvtepi32_ps(x); }
static inline vf fraction(vf x) { return x - _mm256_floor_ps(x); }
static inline vf times_power_of_2(vf x, vf power) {  // x * 2^floor(power)
  const vi whole = _mm256_cvttps_epi32(_mm256_floor_ps(power));
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(whole, 23)));
}
static inline float sum_of(vf x) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
static inline float largest_of(vf x) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
static inline vf sums_of(const vf (&x)[kLanes]) {  // lane i: the sum of x[i]
  vf four[2];
  for (int i = 0; i < 2; ++i)
    four[i] = _mm256_hadd_ps(_mm256_hadd_ps(x[4 * i], x[4 * i + 1]), _mm256_hadd_ps(x[4 * i + 2], x[4 * i + 3]));
  return _mm256_permute2f128_ps(four[0], four[1], 0x20) + _mm256_permute2f128_ps(four[0], four[1], 0x31);
}
static inline bool any_at_least(vf x, vf limit) {
  return _mm256_movemask_ps(_mm256_cmp_ps(x, limit, _CMP_GE_OQ)) != 0;
}
#ifdef SOTTO_HAS_VNNI
static inline vi dot_u8_i8(vi sum, vi a, vi b) {
  asm("%{" SOTTO_HAS_VNNI "%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  return sum;
}
#else
static inline vi dot_u8_i8(vi sum, vi a, vi b) {  // by 16-bit halves: vpmaddubsw would saturate
  const vi even = _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xff)),
                                    _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const vi odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}
#endif
