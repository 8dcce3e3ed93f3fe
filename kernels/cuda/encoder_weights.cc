#include "kernels/cuda/encoder_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "kernels/cpu/half.h"
#include "kernels/cuda/blob.h"
#include "models/error.h"

namespace sotto::cuda {
namespace {

// Sets every pointer, from `base` on; returns the bytes that all take.
int64_t lay_out(const Dims& dims, bool bytes, const std::byte* base, EncoderWeights& to) {
  const int width = dims.width;
  BlobParts parts(base);
  const auto product = [&](Product what) {
    const int64_t n = product_n(what, width, dims.decoder_layers), k = product_k(what, width, dims.mel_bins);
    const bool in_bytes = bytes && can_be_bytes(what);
    ProductWeights weights;
    weights.w = parts.take(n * k * (in_bytes ? 1 : 2));
    weights.bias = parts.take_f32(n);
    weights.scales = in_bytes ? parts.take_f32(n * k / kScaled) : nullptr;
    return weights;
  };
  const auto norm = [&] {
    const float* weight = parts.take_f32(width);
    return NormWeights{weight, parts.take_f32(width)};
  };
  to.conv1 = product(Product::conv1);
  to.conv2 = product(Product::conv2);
  to.positions = parts.take_f32(int64_t{kRows} * width);
  to.layers.resize(dims.encoder_layers);
  for (EncoderLayerWeights& layer : to.layers) {
    layer.attn_ln = norm();
    layer.qkv = product(Product::qkv);
    layer.out = product(Product::out);
    layer.mlp_ln = norm();
    layer.fc1 = product(Product::fc1);
    layer.fc2 = product(Product::fc2);
  }
  to.ln = norm();
  to.cross_kv = product(Product::cross_kv);
  return parts.end() - base;
}

uint16_t half_of(float value, Half half) { return half == Half::f16 ? cpu::f16_of(value) : cpu::bf16_of(value); }

// One matrix of a stack, from column `column` of y on. taps: 3 where rows are [channel][tap], which becomes
// [tap][channel].
struct Part {
  const Linear& linear;
  int column;
  int taps = 1;
  bool for_attention = false;  // a column of y is the one that attention's sums want in its place
};

// Row `place` of n, each 128 values scaled to 127.
void quantise_row(const std::vector<float>& row, int place, int64_t n, const ProductWeights& to) {
  auto* const bytes = static_cast<int8_t*>(const_cast<void*>(to.w)) + int64_t{place} * std::ssize(row);
  for (int first = 0; first < std::ssize(row); first += kScaled) {
    float most = 0;
    for (int i = first; i < first + kScaled; i++) most = std::max(most, std::fabs(row[i]));
    const float scale = most > 0 ? most / 127 : 1;
    for (int i = first; i < first + kScaled; i++) bytes[i] = static_cast<int8_t>(std::lrint(row[i] / scale));
    const_cast<float*>(to.scales)[first / kScaled * n + place] = scale;
  }
}

void pack_part(const Part& part, Product what, int64_t n, int k, Half half, const ProductWeights& to) {
  const Stored& weight = part.linear.weight;
  const int run = column_run(what), channels = static_cast<int>(weight.cols) / part.taps;
  auto* const w = static_cast<uint16_t*>(const_cast<void*>(to.w));
  auto* const bias = const_cast<float*>(to.bias);
  const std::vector<float> from_bias = part.linear.bias ? read_all(part.linear.bias) : std::vector<float>(weight.rows);
  CHECK_INVARIANT(std::ssize(from_bias) == weight.rows && weight.cols <= k);
  std::vector<float> row(weight.cols);
  for (int i = 0; i < weight.rows; i++) {
    read_rows(weight, i, 1, row.data());
    const int column = part.column + (part.for_attention ? mma_column(i, 8) : i);
    bias[bias_place(column, run)] = from_bias[i];
    if (to.scales) {
      quantise_row(row, mma_column(column, run), n, to);
      continue;
    }
    uint16_t* const packed = w + int64_t{mma_column(column, run)} * k;
    for (int c = 0; c < channels; c++) {
      for (int tap = 0; tap < part.taps; tap++) packed[tap * channels + c] = half_of(row[c * part.taps + tap], half);
    }
    std::fill(packed + weight.cols, packed + k, uint16_t{0});
  }
}

void copy_to(const Stored& from, const float* to) { read_rows(from, 0, from.rows, const_cast<float*>(to)); }

void copy_norm(const Norm& from, const NormWeights& to) {
  copy_to(from.weight, to.weight);
  copy_to(from.bias, to.bias);
}

}  // namespace

EncoderWeights encoder_weights(const Dims& dims, const std::byte* base, bool bytes) {
  EncoderWeights weights;
  lay_out(dims, bytes, base, weights);
  return weights;
}

int64_t encoder_weights_bytes(const Dims& dims, bool bytes) {
  EncoderWeights weights;
  return lay_out(dims, bytes, nullptr, weights);
}

void pack_encoder(const Weights& weights, Half half, Team& team, std::byte* base, bool bytes) {
  const Dims& dims = weights.dims;
  const int width = dims.width;
  const EncoderWeights to = encoder_weights(dims, base, bytes);
  std::vector<std::function<void()>> work;  // pieces that don't touch each other
  const auto product = [&](const ProductWeights& packed, Product what, Part part) {
    const int n = product_n(what, width, dims.decoder_layers), k = product_k(what, width, dims.mel_bins);
    work.push_back([=] { pack_part(part, what, n, k, half, packed); });
  };
  product(to.conv1, Product::conv1, {weights.conv1, 0, 3});
  product(to.conv2, Product::conv2, {weights.conv2, 0, 3});
  for (int l = 0; l < dims.encoder_layers; l++) {
    const EncoderBlock& from = weights.encoder[l];
    const EncoderLayerWeights& layer = to.layers[l];
    product(layer.qkv, Product::qkv, {from.attn.query, 0});
    product(layer.qkv, Product::qkv, {from.attn.key, width});
    product(layer.qkv, Product::qkv, {from.attn.value, 2 * width, 1, true});
    product(layer.out, Product::out, {from.attn.out, 0});
    product(layer.fc1, Product::fc1, {from.fc1, 0});
    product(layer.fc2, Product::fc2, {from.fc2, 0});
    copy_norm(from.attn_ln, layer.attn_ln);
    copy_norm(from.mlp_ln, layer.mlp_ln);
  }
  for (int l = 0; l < dims.decoder_layers; l++) {
    const Attention& from = weights.decoder[l].cross_attn;
    product(to.cross_kv, Product::cross_kv, {from.key, 2 * l * width});
    product(to.cross_kv, Product::cross_kv, {from.value, (2 * l + 1) * width});
  }
  copy_norm(weights.encoder_ln, to.ln);
  copy_to(weights.encoder_positions, to.positions);
  float* const past = const_cast<float*>(to.positions) + int64_t{kAudioContext} * width;
  std::fill_n(past, (kRows - kAudioContext) * width, 0.0f);
  team.parallel_for(std::ssize(work), 1, [&](int64_t first, int64_t last, int) {
    for (; first < last; first++) work[first]();
  });
}

}  // namespace sotto::cuda
