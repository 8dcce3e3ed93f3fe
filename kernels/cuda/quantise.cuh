// Values to signed bytes: 127 stands for the largest size among those that share a scale.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

struct s8x2 {
  uint16_t bits;
};

// 1.5 * 2^23: added to a float below 2^22, it leaves the nearest integer in the low bits; added to an integer as bits, it
// makes that integer a float.
constexpr float kIntegerBits = 12582912.0f;
constexpr int32_t kIntegerBitsAsInteger = 0x4b400000;

// value * to_127 rounded, to_127 = 127 / the largest size (infinite: all are 0).
DEVICE uint32_t to_bytes(const float (&value)[4], float to_127) {
  uint32_t bytes[4];
#pragma unroll
  for (int i = 0; i < 4; i++) bytes[i] = as_bits((value[i] == 0 ? 0 : value[i] * to_127) + kIntegerBits);
  return pack_s8(bytes[0], bytes[1], bytes[2], bytes[3]);
}

}  // namespace sotto::cuda
