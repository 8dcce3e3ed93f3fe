// 64-bit ARM with the dot product of bytes: Cortex-A55, A76 and Neoverse N1, Apple M1, and later.
#if defined(__aarch64__)
#pragma GCC target("arch=armv8.2-a+dotprod")
#include <arm_neon.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16
#define SOTTO_HAS_I8

namespace sotto::cpu {
namespace neon_dotprod {
constexpr int kVectors = 4;
constexpr int kTileRows = 6;
#include "kernels/cpu/vector_any.h"
#include "kernels/cpu/vector_neon.h"
static inline vi dot_u8_i8(vi sum, vi a, vi b) {  // u w = (u - 128) w + 128 w; the second is one for all rows
  const int8x16_t weights = vreinterpretq_s8_s32(b), factors = vreinterpretq_s8_s32(a ^ int32_t(0x80808080));
  const vi offset = vshlq_n_s32(vdotq_s32(vdupq_n_s32(0), vdupq_n_s8(64), weights), 1);
  return vdotq_s32(sum + offset, factors, weights);
}
#include "kernels/cpu/generic.h"
}  // namespace neon_dotprod

extern constexpr Kernels kNeonDotprod = neon_dotprod::table("neon-dotprod");

}  // namespace sotto::cpu
#endif
