// Random values, operands and tables for the tests of the decoder's kernels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cuda/device.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/step.h"

namespace sotto::test {

using cuda::WeightType;

inline std::vector<float> normal(size_t n, uint32_t seed, float deviation, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> of(mean, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = of(random);
  return values;
}

// Operands beside weights of a type: their bits, and the values that these stand for.
struct Halves {
  std::vector<uint16_t> bits;
  std::vector<float> values;
};
inline float half_value(uint16_t bits, WeightType type) {
  return type == WeightType::bf16 ? cuda::to_float(cuda::bf16{bits}) : cuda::to_float(cuda::f16{bits});
}
inline Halves halves(const std::vector<float>& from, WeightType type) {
  Halves result;
  for (float value : from) {
    result.bits.push_back(type == WeightType::bf16 ? cuda::from_float<cuda::bf16>(value).bits
                                                   : cuda::from_float<cuda::f16>(value).bits);
    result.values.push_back(half_value(result.bits.back(), type));
  }
  return result;
}
inline std::vector<float> half_values(const std::vector<uint16_t>& bits, WeightType type) {
  std::vector<float> result;
  for (uint16_t b : bits) result.push_back(half_value(b, type));
  return result;
}

template <class T>
cuda::DevicePointer address(const DeviceArray<T>& array) {
  return reinterpret_cast<cuda::DevicePointer>(array.data());
}

template <class Test>
void schedules(bool all, const Test& test) {
  if (all) {
    for_each_schedule(test);
  } else {
    one_schedule(test);
  }
}

}  // namespace sotto::test
