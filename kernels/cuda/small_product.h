// Products of a step, y = x w^T + bias for the few rows that decode together, as the host sees them. "half" is f16 or
// bf16, as the kernel's name says; with int8 weights it is f16.
//
// Layer norms have no kernel of their own. With mean and deviation of a row x, norm(x) w^T = sum_k (x_k gain_k) w_nk
// / deviation - mean / deviation * sum_k gain_k w_nk + sum_k shift_k w_nk. So whoever writes x writes the operand x gain
// beside it, and moments of every 16 values; the product that follows merges the moments while its weights are on their
// way, and its gain_sum and bias hold the other two sums.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/step.h"

namespace sotto::cuda {

// How the decoder's weights are stored.
enum class WeightType : uint8_t { f16, bf16, i8 };

enum class SmallProduct : uint8_t {
  qkv,    // norm; q scaled -> q, k and v -> the slots' memories. With n = width, q alone: cross attention's
  out,    // k = width: x += y, and the next product's operand
  fc1,    // norm; gelu -> hidden
  fc2     // k = 4 width: as out
};

// Rows that a block of a product takes, and a step as a whole: its graph is for the least class that holds its rows.
constexpr int kBlockRows[] = {8, 16, 32};
constexpr int kRowClasses[] = {8, 16, 32, 64};
constexpr int block_rows(int row_class) { return row_class < 32 ? row_class : 32; }
constexpr int row_class(int n_rows) {
  for (int rows : kRowClasses)
    if (n_rows <= rows) return rows;
  return 0;
}

// Warps that share the sum over k. A constant of the model's width alone, since it orders the sum.
constexpr int split_warps(int k) { return k <= 384 ? 4 : k <= 1280 ? 8 : 16; }
// Tiles of 16 outputs that a warp takes: with many rows two, so that an operand is read less often.
constexpr int output_tiles(int k, int block_rows) { return block_rows >= 32 && k <= 1280 ? 2 : 1; }

// A product's weights, and its operand: half [kMaxStepRows][k].
struct ProductInput {
  const StepTable* table;
  const void* weights;  // as pack_tiles() lays them out
  const float* scale;   // int8: [n], of each output
  const float* bias;    // [n]
  const void* x;
  int32_t row_blocks;   // class / block_rows
};

// Where a norm precedes.
struct NormInput {
  const Moments* moments;  // [kMaxStepRows][width / 16], of the rows that x was made from
  const float* gain_sum;   // [n]
};

// One layer's keys and values of all slots: half [slot][...][head][max_rows][448][64], slots slot_stride values apart.
struct SelfMemory {
  void *keys, *values;
  int64_t slot_stride;
  int32_t max_rows;
};

struct QkvArgs {
  ProductInput in;
  NormInput norm;
  void* q;  // half [kMaxStepRows][width], times kQueryScale
  SelfMemory self;
};

struct ResidualArgs {
  ProductInput in;
  float* x;           // [kMaxStepRows][width], the residual stream
  const float* gain;  // [width], of the norm that comes next
  void* operand;      // half [kMaxStepRows][width]: x gain
  Moments* moments;   // [kMaxStepRows][width / 16]
};

struct Fc1Args {
  ProductInput in;
  NormInput norm;
  void* hidden;  // half [kMaxStepRows][4 width]
};

// "step_qkv_f16_384_8"
std::string small_product_kernel(SmallProduct product, WeightType type, int width, int row_class);
LaunchShape small_product_shape(SmallProduct product, int n, int k, int row_class);

}  // namespace sotto::cuda
