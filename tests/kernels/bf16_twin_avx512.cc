// The bf16 kernels with their instruction emulated, for machines with AVX-512 that lack it.
#define SOTTO_EMULATE_BF16
#include "kernels/cpu/bf16_avx512.cc"
