// The kernels of AVX2 with VNNI, their one instruction in the form that AVX-512 machines have.
#define SOTTO_TEST_VNNI
#include "kernels/cpu/vnni_avx2.cc"
