#include "kernels/reference/encoder.h"

#include <algorithm>

#include "kernels/reference/ops.h"

namespace sotto::reference {

Encoder::Encoder(const Model& model, Team& team) : model_(model), team_(team) {
  const int64_t width = model.dims.width, bins = model.dims.mel_bins;
  mel_ = Floats((kMelFrames + 2) * bins);
  conv1_ = Floats((kMelFrames + 2) * width);
  x_ = Floats(kAudioContext * width);
  y_ = Floats(kAudioContext * width);
  qkv_ = Floats(kAudioContext * 3 * width);
  hidden_ = Floats(kAudioContext * 4 * width);
  keys_ = Floats(key_panels_size(model.dims.heads, kAudioContext));
  scratch_ = Floats(team.threads() * attention_scratch(kAudioContext));
  for (int64_t row : {int64_t{0}, int64_t{kMelFrames + 1}}) {
    std::fill_n(mel_.data() + row * bins, bins, 0.0f);
    std::fill_n(conv1_.data() + row * width, width, 0.0f);
  }
}

void Encoder::run(const float* mel, float* encoded) {
  const int width = model_.dims.width, heads = model_.dims.heads, bins = model_.dims.mel_bins, n = kAudioContext;
  float *x = x_.data(), *y = y_.data(), *qkv = qkv_.data(), *hidden = hidden_.data();

  // A convolution over three frames is a product with rows that overlap: frame t's row starts at frame t - 1.
  std::copy_n(mel, int64_t{kMelFrames} * bins, mel_.data() + bins);
  product(team_, model_.conv1, mel_.data(), bins, kMelFrames, Then::gelu, conv1_.data() + width);
  product(team_, model_.conv2, conv1_.data(), 2 * width, n, Then::gelu, x);
  for (int64_t i = 0; i < int64_t{n} * width; i++) x[i] += model_.encoder_positions[i];

  for (const EncoderLayer& layer : model_.encoder) {
    layer_norm(team_, layer.attn_ln, x, n, width, y);
    product(team_, layer.qkv, y, width, n, Then::store, qkv);
    pack_keys(team_, qkv + width, 3 * width, heads, n, keys_.data());
    attention(team_, qkv, 3 * width, n, keys_.data(), qkv + 2 * width, 3 * width, heads, n, scratch_.data(), nullptr,
              y);
    product(team_, layer.out, y, width, n, Then::add, x);

    layer_norm(team_, layer.mlp_ln, x, n, width, y);
    product(team_, layer.fc1, y, width, n, Then::gelu, hidden);
    product(team_, layer.fc2, hidden, 4 * width, n, Then::add, x);
  }
  layer_norm(team_, model_.encoder_ln, x, n, width, encoded);
}

CrossMemory Encoder::new_cross_memory() const {
  const int64_t layers = static_cast<int64_t>(model_.decoder.size());
  return {Floats(layers * key_panels_size(model_.dims.heads, kAudioContext)),
          Floats(layers * kAudioContext * model_.dims.width)};
}

void Encoder::fill_cross_memory(const float* encoded, CrossMemory& cross) {
  const int64_t width = model_.dims.width;
  float* kv = qkv_.data();  // [1500][2 width]
  for (size_t l = 0; l < model_.decoder.size(); l++) {
    product(team_, model_.decoder[l].cross_kv, encoded, width, kAudioContext, Then::store, kv);
    pack_keys(team_, kv, 2 * width, model_.dims.heads, kAudioContext,
              cross.keys.data() + l * key_panels_size(model_.dims.heads, kAudioContext));
    float* values = cross.values.data() + l * kAudioContext * width;
    for (int64_t t = 0; t < kAudioContext; t++) std::copy_n(kv + t * 2 * width + width, width, values + t * width);
  }
}

}  // namespace sotto::reference
