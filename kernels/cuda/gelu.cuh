// x (1 + erf(x / sqrt 2)) / 2, the exact form of GELU, within 3e-7 |x|.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

// = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2, where erfc(z) = (1 + a1 z + ... + a6 z^6)^-16 within 3e-7 by formula 7.1.28
// of Abramowitz and Stegun, Handbook of Mathematical Functions: one reciprocal, no exponential. The factors of z^i here
// hold 2^(-i/2), so they take |x|.
DEVICE float gelu(float x) {
  const float size = fabsf(x);
  float p = 5.382975e-6f;
  p = p * size + 4.8890636e-5f;
  p = p * size + 3.8003575e-5f;
  p = p * size + 3.2776263e-3f;
  p = p * size + 2.1141006e-2f;
  p = p * size + 4.9867347e-2f;
  p = p * size + 1;
  p *= p;
  p *= p;
  p *= p;
  p *= p;
  return fmaxf(x, 0) - 0.5f * size * reciprocal_approx(p);
}

}  // namespace sotto::cuda
