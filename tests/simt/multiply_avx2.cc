typedef float Vector __attribute__((vector_size(32)));

#include "simt/multiply_body.h"

namespace sotto::simt {

void multiply_f32_avx2(float* d, const float* a, const float* b, int m, int n) { multiply(d, a, b, m, n); }

}  // namespace sotto::simt
