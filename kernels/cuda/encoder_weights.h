// The encoder's weights, and those of the decoder's cross keys and values, as the kernels take them: one blob, its
// parts one after the other in the order in which the encoder uses them, each on 256 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/encoder_kernels.h"
#include "kernels/team.h"
#include "models/weights.h"

namespace sotto::cuda {

struct ProductWeights {
  const void* w;      // half [n][product_k]: row mma_column(c) for column c of y; convolutions have taps outermost
  const float* bias;  // [n]: at bias_place(c) for column c
  const float* scales;  // where w is in bytes: [k / 128][n], in the order of w's rows
};
struct NormWeights {
  const float* weight;  // [width]
  const float* bias;
};

struct EncoderLayerWeights {
  NormWeights attn_ln;
  ProductWeights qkv;  // query, key, value stacked; the value's columns stand where mma_column(_, 8) has them
  ProductWeights out;
  NormWeights mlp_ln;
  ProductWeights fc1, fc2;
};

struct EncoderWeights {
  ProductWeights conv1, conv2;
  const float* positions;  // [kRows][width], zeros past 1500
  std::vector<EncoderLayerWeights> layers;
  NormWeights ln;
  ProductWeights cross_kv;  // key and value of each decoder layer stacked
};

// Where everything is in a blob that lies at `base`, on the device or on the host. bytes: qkv, fc1 and fc2 are int8.
EncoderWeights encoder_weights(const Dims& dims, const std::byte* base, bool bytes = false);
int64_t encoder_weights_bytes(const Dims& dims, bool bytes = false);

// Fills a blob in the host's memory.
void pack_encoder(const Weights& weights, Half half, Team& team, std::byte* base, bool bytes = false);

}  // namespace sotto::cuda
