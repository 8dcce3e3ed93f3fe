// The loops in which the time goes, compiled once for each instruction set (loops_<isa>.cc) and chosen at run time.
#pragma once

#include <cstdint>

namespace sotto::reference {

// All sums run in one fixed order for each instruction set, whatever the number of rows.
struct Loops {
  const char* isa;  // for people
  int panel;        // columns of b that are worked on at once; divides 64

  // c[i][j] = start[j] + sum over p of a[i][p] * b[p][j], in order of p, for i < m, j < panel. start null: zeros.
  // lda, ldb, ldc: floats from row to row.
  void (*multiply)(const float* a, int64_t lda, const float* b, int64_t ldb, const float* start, float* c, int64_t ldc,
                   int m, int k);
  // x[i] becomes its softmax over [0, n).
  void (*softmax)(float* x, int n);
  // x * (1 + erf(x / sqrt 2)) / 2 of each, in place.
  void (*gelu)(float* x, int n);
  // out[64] = attention of one head of one query over n positions; position t lies at where[t] * row_stride +
  // t * stride in k and v. scores: scratch [n].
  void (*attend_history)(const float* q, const float* k, const float* v, const uint8_t* where, int64_t row_stride,
                         int64_t stride, int n, float* scores, float* out);
};

const Loops& loops();  // the best for this machine

// One for each instruction set that this program was built with; enter only what the machine has.
const Loops& loops_portable();
const Loops& loops_avx2();
const Loops& loops_avx512();

}  // namespace sotto::reference
