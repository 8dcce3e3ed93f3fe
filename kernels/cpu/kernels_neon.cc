// 64-bit ARM. With the instruction for int8 products: dotprod_neon.cc.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16

namespace sotto::cpu {
namespace neon {
constexpr int kVectors = 4;
constexpr int kTileRows = 6;  // 24 sums, 4 columns of B, 1 of A: 29 of 32 registers
#include "kernels/cpu/vector_any.h"
#include "kernels/cpu/vector_neon.h"
static inline vi dot_u8_i8(vi sum, vi a, vi b) { return dot_by_bytes(sum, a, b); }
#include "kernels/cpu/generic.h"
}  // namespace neon

extern constexpr Kernels kNeon = neon::table("neon");

}  // namespace sotto::cpu
#endif
