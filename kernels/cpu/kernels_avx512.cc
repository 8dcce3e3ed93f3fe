// AVX-512 (F, BW, DQ, VL) with VNNI: Ice Lake and later. Where there are bf16 products too: bf16_avx512.cc.
#pragma GCC target("avx512vnni")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12: its own intrinsics start from an undefined vector
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16
#define SOTTO_HAS_I8

namespace sotto::cpu {
namespace avx512 {
#include "kernels/cpu/vector_avx512.h"
#include "kernels/cpu/generic.h"
}  // namespace avx512

extern constexpr Kernels kAvx512 = avx512::table("avx512");

}  // namespace sotto::cpu
