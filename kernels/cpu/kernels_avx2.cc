// AVX2 with FMA and F16C: Haswell and Zen to Zen 3.
#include <immintrin.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16

namespace sotto::cpu {
namespace avx2 {
#include "kernels/cpu/vector_avx2.h"
#include "kernels/cpu/generic.h"
}  // namespace avx2

extern constexpr Kernels kAvx2 = avx2::table("avx2");

}  // namespace sotto::cpu
