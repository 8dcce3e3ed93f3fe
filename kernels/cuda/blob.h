// One piece of the device's memory that holds all of a network half's packed weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cuda/launch.h"

namespace sotto::cuda {

// Hands out a blob's parts one after the other, each from a multiple of 256 bytes on.
class BlobParts {
 public:
  explicit BlobParts(const std::byte* base) : at_(base) {}
  const std::byte* take(int64_t bytes) { return std::exchange(at_, at_ + round_up(bytes, kAlign)); }
  const float* take_f32(int64_t n) { return reinterpret_cast<const float*>(take(n * 4)); }
  const std::byte* end() const { return at_; }

 private:
  static constexpr int64_t kAlign = 256;
  const std::byte* at_;
};

}  // namespace sotto::cuda
