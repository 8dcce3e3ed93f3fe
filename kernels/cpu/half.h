// f32 to f16 and bf16, rounded to nearest even, for code that runs anywhere.
#pragma once

#include <cstdint>
#include <cstring>

namespace sotto::cpu {

inline uint16_t f16_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits >= 0x47800000) return static_cast<uint16_t>(sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00));  // too large, NaN
  if (bits < 0x38800000) {  // subnormal in f16: let the addition of 0.5 round at the right bit
    float size;
    std::memcpy(&size, &bits, 4);
    size += 0.5f;
    std::memcpy(&bits, &size, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000));
  }
  return static_cast<uint16_t>(sign | ((bits + 0xc8000fff + (bits >> 13 & 1)) >> 13));
}

inline uint16_t bf16_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace sotto::cpu
