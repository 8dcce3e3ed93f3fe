// The weights as the plain network takes them: f32, matrices in the panels that Loops::multiply reads.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/reference/loops.h"
#include "kernels/team.h"
#include "models/weights.h"

namespace sotto::reference {

// Floats on a cache line's boundary; not initialised, so memory that is never used is never touched.
class Floats {
 public:
  Floats() = default;
  explicit Floats(int64_t n);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float[], Free> data_;
};

// y = x W^T + b. W [n][k] lies as [n / panel][k][panel], zeros past n; the bias is padded to whole panels.
struct Matrix {
  int n = 0, k = 0;
  Floats panels;
  Floats bias;
  const float* panel(int i, int width) const { return panels.data() + int64_t{i} * k * width; }
};

struct LayerNorm {
  std::vector<float> weight, bias;  // [width]
};

struct EncoderLayer {
  LayerNorm attn_ln;
  Matrix qkv;  // query, key and value stacked, [3 width][width]; the query's part holds the scores' factor 1/8
  Matrix out;
  LayerNorm mlp_ln;
  Matrix fc1, fc2;
};

struct DecoderLayer {
  LayerNorm attn_ln;
  Matrix qkv, out;
  LayerNorm cross_attn_ln;
  Matrix cross_q;   // with the factor 1/8
  Matrix cross_kv;  // key and value stacked, [2 width][width]
  Matrix cross_out;
  LayerNorm mlp_ln;
  Matrix fc1, fc2;
};

struct Model {
  Dims dims;
  Matrix conv1, conv2;           // [width][3 * channels in], taps outermost
  std::vector<float> encoder_positions;  // [1500][width]
  std::vector<EncoderLayer> encoder;
  LayerNorm encoder_ln;
  std::shared_ptr<const Weights> weights;  // the embedding's rows are read from it
  Matrix vocabulary;             // token_embedding as the output projection
  std::vector<float> decoder_positions;  // [448][width]
  std::vector<DecoderLayer> decoder;
  LayerNorm decoder_ln;
};

Model read_model(std::shared_ptr<const Weights> weights, Team& team);

}  // namespace sotto::reference
