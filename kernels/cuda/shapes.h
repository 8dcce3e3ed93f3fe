// Shapes and layouts that the kernels of the CUDA engine agree on, for host and device. All is row-major; "half" is the
// element type of the network's operands, bf16 or fp16. Sums, the residual stream x and all biases are f32.
//
// A window has kRows encoder positions in memory and kFrameRows mel frames: the rows past 1500 (3000) make the strides
// whole and hold finite values, but no softmax counts them and nobody reads them.
//
//   mel       half [windows][kFrameRows][bins]       row 0 zeros, frame t in row t + 1, zeros after frame 2999
//   conv1     half [windows * kFrameRows + 1][width] the same, so a convolution's row is what follows frame t - 1
//   x         f32  [windows * kRows][width]          the residual stream
//   y         half [windows * kRows][width]          a norm's or attention's output
//   qkv       half [windows][q, k, v][heads][kRows][64]  q times 64^-1/2 log2 e; v's values in the order of mma_column
//   hidden    half [windows * kRows][4 width]
//   cross_k, cross_v  half [slots][decoder layers][heads][kRows][64]  row t has its 16-byte chunks at chunk ^ t % 8;
//             the rows past 1500 are never written
#pragma once

#include <cstdint>

#include "models/dims.h"

namespace sotto::cuda {

constexpr int kRows = 1504;
constexpr int kFrameRows = 2 * kRows;
static_assert(kFrameRows >= kMelFrames + 2 && kRows % 32 == 0);

// Scores are taken in base 2: exp2(q k) with this on q is the softmax of q k / 8.
constexpr float kQueryScale = 0.125f * 1.44269504f;

// The products of the encoder, y = a w^T + bias, and what becomes of y.
enum class Product {
  conv1,     // y -> gelu -> conv1
  conv2,     // y -> gelu, + position -> x
  qkv,       // y -> qkv
  out,       // x += y
  fc1,       // y -> gelu -> hidden
  fc2,       // x += y
  cross_kv,  // of all decoder layers at once: y -> cross_k and cross_v of the windows' slots
};

// Columns of a and w that a product sums over. conv1's 3 * 80 are rounded up to what a tile takes: the rest of w is
// zeros, and what a's rows have there belongs to the next frame.
constexpr int product_k(Product product, int width, int bins) {
  switch (product) {
    case Product::conv1: return (3 * bins + 63) / 64 * 64;
    case Product::conv2: return 3 * width;
    case Product::fc2: return 4 * width;
    default: return width;
  }
}

// Values from one row of a to the next: less than product_k where rows overlap.
constexpr int product_lda(Product product, int width, int bins) {
  switch (product) {
    case Product::conv1: return bins;
    case Product::conv2: return 2 * width;
    case Product::fc2: return 4 * width;
    default: return width;
  }
}

constexpr int product_n(Product product, int width, int decoder_layers) {
  switch (product) {
    case Product::qkv: return 3 * width;
    case Product::fc1: return 4 * width;
    case Product::cross_kv: return decoder_layers * 2 * width;
    default: return width;
  }
}

// Rows of a: conv1's stop where the last window's zeros begin.
constexpr int product_m(Product product, int windows) {
  return product == Product::conv1 ? windows * kFrameRows - (kFrameRows - kMelFrames) : windows * kRows;
}

// What a product writes: f32 of the residual stream, or half.
constexpr bool writes_x(Product product) {
  return product == Product::conv2 || product == Product::out || product == Product::fc2;
}

// Whether both operands can be bytes with a scale for each 128 values.
constexpr bool can_be_bytes(Product product) {
  return product == Product::qkv || product == Product::fc1 || product == Product::fc2;
}

// Columns of y that a lane of the product writes at once: 16 bytes.
constexpr int column_run(Product product) { return writes_x(product) ? 4 : 8; }

// Where column `column` of y stands among the rows of w. mma.m16n8k16 gives a lane two neighbouring columns of every
// eight; in this order those of neighbouring eights make up `run` neighbouring columns of y, 16 bytes (run: 8 half, 4
// f32), and the epilogue writes whole sectors without an exchange between lanes.
constexpr int mma_column(int column, int run) {
  const int block = column / (4 * run) * (4 * run), lane = column / run % 4, eight = column % run / 2;
  return block + eight * 8 + lane * 2 + column % 2;
}
static_assert(mma_column(8, 8) == 2 && mma_column(2, 8) == 8 && mma_column(33, 8) == 33 && mma_column(4, 4) == 2);

// Where the bias of column `column` stands: such that lanes that load four values each load neighbouring ones.
constexpr int bias_place(int column, int run) {
  const int block = column / (4 * run) * (4 * run), lane = column / run % 4, four = column % run / 4;
  return block + four * 16 + lane * 4 + column % 4;
}
static_assert(bias_place(4, 8) == 16 && bias_place(8, 8) == 4 && bias_place(37, 8) == 49 && bias_place(20, 4) == 20);

// Elements of one head's q, k or v.
constexpr int64_t kHeadSize = int64_t{kRows} * kHead;

}  // namespace sotto::cuda
