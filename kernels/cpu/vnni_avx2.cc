// AVX2 with the VEX form of VNNI: Alder Lake to Arrow Lake, Gracemont, Sierra Forest. A test compiles this file once more
// with SOTTO_TEST_VNNI, so that its kernels run where there is the EVEX form of that one instruction.
#include <immintrin.h>

#include "kernels/cpu/kernels.h"

#define SOTTO_HAS_F16
#define SOTTO_HAS_I8

namespace sotto::cpu {
#ifdef SOTTO_TEST_VNNI
#define SOTTO_HAS_VNNI "evex"
namespace avx2_vnni_twin {
#else
#define SOTTO_HAS_VNNI "vex"
namespace avx2_vnni {
#endif
#include "kernels/cpu/vector_avx2.h"
#include "kernels/cpu/generic.h"
}  // namespace

#ifdef SOTTO_TEST_VNNI
extern constexpr Kernels kAvx2VnniTwin = avx2_vnni_twin::table("avx2-vnni-twin");
#else
extern constexpr Kernels kAvx2Vnni = avx2_vnni::table("avx2-vnni");
#endif

}  // namespace sotto::cpu
