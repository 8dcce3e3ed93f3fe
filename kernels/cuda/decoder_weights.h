// The decoder's weights as its kernels take them: one blob, its parts one after the other in the order in which a step
// uses them, each on 256 bytes. Those of the cross keys and values are with the encoder's.
//
// A matrix w [n][k] lies in tiles of 16 outputs x 32 values, [n / 16][k / 32], each what one warp loads for two
// mma.m16n8k16: 16 bytes of each lane for each step of 16 values (int8: for both steps). Outputs 2 g and 2 g + 1 are rows
// g and g + 8 of the fragment, so that a lane gets neighbours; lane 4 g + c has values 8 c to 8 c + 7 of the 32, which is
// how it loads a row of x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/small_product.h"
#include "kernels/team.h"
#include "models/weights.h"

namespace sotto::cuda {

struct SmallWeights {
  const void* tiles;
  const float* scale;     // int8: [n]; else null
  const float* bias;      // [n]; behind a norm, with sum_k shift_k w_nk
  const float* gain_sum;  // behind a norm: [n], sum_k gain_k w_nk; else null
};

struct DecoderLayerWeights {
  const float* attn_gain;  // [width], of the norm before
  SmallWeights qkv, out;   // query, key, value stacked
  const float* cross_gain;
  SmallWeights cross_q, cross_out;
  const float* mlp_gain;
  SmallWeights fc1, fc2;
};

struct DecoderWeights {
  const float* positions;  // [448][width]
  std::vector<DecoderLayerWeights> layers;
  const float* gain;    // of the last norm
  SmallWeights logits;  // the token embedding, padded_vocabulary() outputs, zeros past the last
};

// Where everything is in a blob that lies at `base`, on the device or on the host.
DecoderWeights decoder_weights(const Dims& dims, WeightType type, const std::byte* base);
int64_t decoder_weights_bytes(const Dims& dims, WeightType type);

// Fills a blob in the host's memory.
void pack_decoder(const Weights& weights, WeightType type, Team& team, std::byte* base);

// Bytes of the tiles of a matrix [n][k], n a multiple of 16 and k of 32.
int64_t tiles_bytes(int64_t n, int64_t k, WeightType type);

// Packs 16 outputs, w [16][k], into their row of tiles, and writes what is kept of each value back to w. scale: [16],
// int8 only.
void pack_tile_row(float* w, int k, WeightType type, void* tiles, float* scale);

}  // namespace sotto::cuda
