// Arguments of the micro-tests' kernels: one warp, whose lanes each put in and get back a few registers.
#pragma once

#include <cstdint>

namespace sotto::test {

struct TwinArgs {
  const uint32_t* in;  // [32][n_in]
  uint32_t* out;       // [32][n_out]
  const void* memory;  // global, for the copies and loads
  int n_in, n_out;
};

struct LastArgs {
  uint32_t* arrived;  // [1], 0 at first
  float* part;        // [grid]
  float* out;         // [1]
  uint32_t* out_n;    // [1]: blocks that found themselves the last
  int32_t* most;      // [1]
};

}  // namespace sotto::test
