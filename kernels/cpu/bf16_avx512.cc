// AVX-512 with VNNI and BF16: Zen 4, Sapphire Rapids and later. A test compiles this file once more with
// SOTTO_EMULATE_BF16, so that the bf16 kernels run on machines that have no such instruction.
#pragma GCC target("avx512vnni")
#ifndef SOTTO_EMULATE_BF16
#pragma GCC target("avx512bf16")
#endif
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12: its own intrinsics start from an undefined vector
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16
#define SOTTO_HAS_I8
#define SOTTO_HAS_BF16

namespace sotto::cpu {
#ifdef SOTTO_EMULATE_BF16
namespace avx512_bf16_twin {
#include "kernels/cpu/vector_avx512.h"

static inline vi rounded_bits(vf x) {  // to nearest even, in the upper half
  const vi bits = _mm512_castps_si512(x);
  const vi odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), splat_i32(1));
  return _mm512_add_epi32(bits, _mm512_add_epi32(odd, splat_i32(0x7fff)));
}
static inline void store_bf16(uint16_t* to, vf x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(x), 16)));
}
static inline vf dot_bf16(vf sum, vi a, vi b) {
  const vi upper = splat_i32(int(0xffff0000));
  const auto low = [](vi x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)); };
  const auto high = [&](vi x) { return _mm512_castsi512_ps(_mm512_and_si512(x, upper)); };
  return fma(high(a), high(b), fma(low(a), low(b), sum));
}
#else
namespace avx512_bf16 {
#include "kernels/cpu/vector_avx512.h"

static inline void store_bf16(uint16_t* to, vf x) {
  const __m256bh rounded = _mm512_cvtneps_pbh(x);
  __builtin_memcpy(to, &rounded, sizeof(rounded));
}
static inline vf dot_bf16(vf sum, vi a, vi b) {  // as asm: see dot_u8_i8
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
#endif
static inline vf load_bf16(const uint16_t* x) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
#include "kernels/cpu/generic.h"
}  // namespace

#ifdef SOTTO_EMULATE_BF16
extern constexpr Kernels kAvx512Bf16Twin = avx512_bf16_twin::table("avx512-bf16-twin");
#else
extern constexpr Kernels kAvx512Bf16 = avx512_bf16::table("avx512-bf16");
#endif

}  // namespace sotto::cpu
