// How rows of 16-byte chunks lie in shared memory, and how they become operands of mma.m16n8k16.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

// Where chunk `chunk` of a row of kChunks (4 or 8) chunks of eight half values stands, in values: exchanged so that one
// chunk of eight rows that follow each other covers all banks once.
template <int kChunks>
DEVICE int chunk_at(int row, int chunk) {
  return (row * kChunks + (chunk ^ (kChunks == 8 ? row & 7 : row >> 1 & 3))) * 8;
}

// The right operands of two neighbouring eights of columns. Lane l gives the row of column l % 8 + l / 16 * 8 and chunk
// l / 8 % 2 of the step (transposed: row l % 16 of the step, and chunk l / 16 of the columns).
DEVICE void ldmatrix_pair(uint32_t (&first)[2], uint32_t (&second)[2], const void* row) {
  uint32_t four[4];
  ldmatrix_x4(four, row);
  first[0] = four[0];
  first[1] = four[1];
  second[0] = four[2];
  second[1] = four[3];
}

DEVICE void ldmatrix_pair_trans(uint32_t (&first)[2], uint32_t (&second)[2], const void* row) {
  uint32_t four[4];
  ldmatrix_x4_trans(four, row);
  first[0] = four[0];
  first[1] = four[1];
  second[0] = four[2];
  second[1] = four[3];
}

}  // namespace sotto::cuda
