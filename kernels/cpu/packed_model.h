// The weights of one model in the layout that one instruction set's kernels read, in one block of memory: packed once
// into a cache file and mapped from then on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/team.h"
#include "models/weights.h"

namespace sotto::cpu {

enum class Precision : uint8_t { f32, bf16, i8 };

// Which type each kind of product and K/V has.
struct Types {
  Type encoder, decoder;  // of the products; the first convolution is f32, the second as the encoder
  Type first_attention;   // of the products around the first layer's attention: later layers amplify what is lost there
  Type encoder_kv, cross_kv;  // keys and values
  Type self;  // keys and values of the decoder's own past

  bool operator==(const Types&) const = default;
};
Types types_of(Precision precision, const Kernels& kernels, const Weights& weights);
// "" and "auto" are int8 where there is an instruction for it, else f32. Throws Error.
Precision precision_named(const std::string& name, const Kernels& kernels);

struct PackedNorm {
  float *weight, *bias;  // [width]
};

struct PackedLinear {
  Type type;
  int n, k;           // outputs and inputs
  char* b;            // panels: see kernels.h
  float* bias;        // [n padded to panels]
  float* b_scale;     // i8: [scales_of(k)][the same]
  int32_t* b_start;   // i8: the same

  int panels(int panel) const { return (n + panel - 1) / panel; }
  int groups() const { return k / values_per_group(type); }
};

struct PackedEncoderBlock {
  PackedNorm attn_ln, mlp_ln;
  PackedLinear qkv, out, fc1, fc2;
};

struct PackedDecoderBlock {
  PackedNorm attn_ln, cross_attn_ln, mlp_ln;
  PackedLinear qkv, out, cross_q, cross_kv, cross_out, fc1, fc2;
};

struct PackedModel {
  Dims dims;
  Types types;
  PackedLinear conv1, conv2;      // k: [tap][in]
  float* encoder_positions;       // [1500][width]
  float* decoder_positions;       // [448][width]
  std::vector<PackedEncoderBlock> encoder;
  std::vector<PackedDecoderBlock> decoder;
  PackedNorm encoder_ln;
  PackedNorm decoder_ln;          // of int8, with the scales of the embedding's columns
  PackedLinear logits;            // the token embedding
  std::shared_ptr<const Weights> weights;  // embeddings of single tokens are read from here
  std::shared_ptr<void> memory;
};

// Maps the packed weights from the cache, or packs them with the team, and keeps them there where that is possible.
PackedModel pack_model(std::shared_ptr<const Weights> weights, const Kernels& kernels, Precision precision, Team& team);

// One matrix [n][k], row-major, and its bias (or null) as a product's B; for tests and the model alike.
// after_gelu: A is u8 in Range::gelu.
void pack_linear(const float* weight, const float* bias, const PackedLinear& to, int panel, bool after_gelu);
// Bytes that the arrays of a linear of this shape take, each from a multiple of 64.
int64_t packed_bytes(const PackedLinear& shape, int panel);
void place_linear(PackedLinear& linear, int panel, char*& at);  // sets its pointers, moves `at` on

}  // namespace sotto::cpu
