// The encoder's kernels as the host sees them: their arguments, names and launch shapes. "half" is f16 or bf16, as the
// kernel's name says; layouts are those of shapes.h.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/shapes.h"
#include "kernels/cuda/tiles.h"

namespace sotto::cuda {

enum class Half { f16, bf16 };

// ---- product.cuh ---------------------------------------------------------------------------------------------------

struct ProductArgs {
  const void* a;           // half [m] rows, product_lda apart
  const void* w;           // half [n][product_k], packed
  const float* bias;       // [n], packed
  void* to;                // conv1, qkv or hidden (half), x (f32), cross_k (half)
  int32_t m;
  const float* positions;  // conv2: [kRows][width]
  void* cross_v;           // cross_kv only, and the rest
  const int32_t* slots;    // [windows]: where in cross_k and cross_v each window goes
  int32_t decoder_layers;
};

std::string product_kernel(Product product, int width, int bins, Half half, int tile);
LaunchShape product_shape(Product product, int width, int decoder_layers, int m, int tile);

// ---- product_s8.cuh: qkv, fc1 and fc2 with both operands in bytes ----------------------------------------------------

struct ProductS8Args {
  ProductArgs product;    // a and w int8; fc1: `to` as well
  const float* a_scales;  // [k / 128][m]: what one of a's values is worth
  const float* w_scales;  // [k / 128][n], in the order of w's rows
  float* to_scales;       // fc1: [4 width / 128][m]
};

std::string product_s8_kernel(Product product, int width, Half half);
LaunchShape product_s8_shape(Product product, int width, int m);

// ---- layer_norm.cuh ------------------------------------------------------------------------------------------------

constexpr int kLayerNormThreads = 128;  // one row for each warp

struct LayerNormArgs {
  const float* x;       // [m][width]
  const float* weight;  // [width]
  const float* bias;    // [width]
  void* y;              // half [m][width], or int8
  int32_t m;
  float* scales;        // int8: [width / 128][m]
};

std::string layer_norm_kernel(int width, Half half);
std::string layer_norm_s8_kernel(int width);
LaunchShape layer_norm_shape(int m);

// ---- encoder_attention.cuh -----------------------------------------------------------------------------------------

constexpr int kAttentionThreads = 128;
constexpr int kKeyTile = 64;

struct EncoderAttentionArgs {
  const void* qkv;  // half [windows][q, k, v][heads][kRows][64]
  void* y;          // half [windows * kRows][heads * 64]
  int32_t heads;
};

// queries: of one block, 64 or 128.
std::string encoder_attention_kernel(Half half, int queries);
LaunchShape encoder_attention_shape(int windows, int heads, int queries);

// ---- mel_operand.cu ------------------------------------------------------------------------------------------------

constexpr int kMelOperandThreads = 256;

struct MelOperandArgs {
  const float* mel;  // [windows][3000][bins]
  void* to;          // half [windows][kFrameRows][bins]: frame t goes to row t + 1, other rows are left as they are
  int32_t bins;
};

std::string mel_operand_kernel(Half half);
LaunchShape mel_operand_shape(int windows, int bins);

}  // namespace sotto::cuda
