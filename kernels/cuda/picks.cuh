// Picks of kernels/decode.h between kernels.
#pragma once

#include "kernels/cuda/ptx.cuh"
#include "kernels/decode.h"

namespace sotto::cuda {

// A number that sorts as the float does, above 0 for all but NaN.
DEVICE uint32_t sortable(float value) {
  const uint32_t bits = as_bits(value == 0 ? 0.0f : value);  // -0 and 0 are equal
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

DEVICE void store_pick(Pick* to, const Pick& pick) {
  store(&to->rank, pick.rank);
  store(&to->logit, pick.logit);
  store(&to->token, pick.token);
}
DEVICE Pick load_pick(const Pick* from) { return {load(&from->rank), load(&from->logit), load(&from->token)}; }

}  // namespace sotto::cuda
