#include "kernels/cuda/decoder_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "kernels/cpu/half.h"
#include "kernels/cuda/blob.h"
#include "kernels/cuda/logits.h"
#include "models/error.h"

namespace sotto::cuda {
namespace {

constexpr int kTileOutputs = 16, kTileValues = 32;

float float_of(uint16_t half, WeightType type) {
  if (type == WeightType::bf16) return std::bit_cast<float>(uint32_t{half} << 16);
  // The exponent is moved by a multiplication, which makes subnormals normal. Weights are finite.
  const float size = std::bit_cast<float>((half & 0x7fffu) << 13) * 0x1p112f;
  return half & 0x8000u ? -size : size;
}

// Sets every pointer, from `base` on; returns the bytes that all take.
int64_t lay_out(const Dims& dims, WeightType type, const std::byte* base, DecoderWeights& to) {
  const int width = dims.width;
  BlobParts parts(base);
  const auto product = [&](int n, int k, bool norm) {
    SmallWeights weights = {};
    weights.tiles = parts.take(tiles_bytes(n, k, type));
    if (type == WeightType::i8) weights.scale = parts.take_f32(n);
    weights.bias = parts.take_f32(n);
    if (norm) weights.gain_sum = parts.take_f32(n);
    return weights;
  };
  to.positions = parts.take_f32(int64_t{kTextContext} * width);
  to.layers.resize(dims.decoder_layers);
  for (DecoderLayerWeights& layer : to.layers) {
    layer.attn_gain = parts.take_f32(width);
    layer.qkv = product(3 * width, width, true);
    layer.out = product(width, width, false);
    layer.cross_gain = parts.take_f32(width);
    layer.cross_q = product(width, width, true);
    layer.cross_out = product(width, width, false);
    layer.mlp_gain = parts.take_f32(width);
    layer.fc1 = product(4 * width, width, true);
    layer.fc2 = product(width, 4 * width, false);
  }
  to.gain = parts.take_f32(width);
  to.logits = product(padded_vocabulary(dims.vocabulary), width, true);
  return parts.end() - base;
}

// One matrix of those that a product stacks, from output `first` on.
struct Part {
  Stored weight, bias;
  const Norm* norm;  // before the product, or null
  int first;
};

// Tiles [from, to) of a part. The sums of a norm are of the weights as they are kept.
void pack_part(const Part& part, WeightType type, const SmallWeights& to, int first_tile, int last_tile) {
  const int k = static_cast<int>(part.weight.cols);
  const int64_t row_bytes = tiles_bytes(kTileOutputs, k, type);
  std::vector<float> rows(int64_t{kTileOutputs} * k), gain, shift, bias(part.weight.rows);
  if (part.norm) {
    gain = read_all(part.norm->weight);
    shift = read_all(part.norm->bias);
  }
  if (part.bias) bias = read_all(part.bias);
  for (int tile = first_tile; tile < last_tile; tile++) {
    const int64_t row = int64_t{tile} * kTileOutputs;
    const int64_t n = std::clamp<int64_t>(part.weight.rows - row, 0, kTileOutputs);
    if (n > 0) read_rows(part.weight, row, n, rows.data());
    std::fill(rows.begin() + n * k, rows.end(), 0.0f);
    const int64_t out = part.first + row;
    std::byte* const tiles = static_cast<std::byte*>(const_cast<void*>(to.tiles)) + out / kTileOutputs * row_bytes;
    float scale[kTileOutputs];
    pack_tile_row(rows.data(), k, type, tiles, scale);
    for (int o = 0; o < kTileOutputs; o++) {
      double gain_sum = 0, sum = o < n ? bias[row + o] : 0;
      for (int i = 0; part.norm && i < k; i++) {
        gain_sum += double{gain[i]} * rows[int64_t{o} * k + i];
        sum += double{shift[i]} * rows[int64_t{o} * k + i];
      }
      if (to.scale) const_cast<float*>(to.scale)[out + o] = scale[o];
      if (to.gain_sum) const_cast<float*>(to.gain_sum)[out + o] = static_cast<float>(gain_sum);
      const_cast<float*>(to.bias)[out + o] = static_cast<float>(sum);
    }
  }
}

void copy_to(const Stored& from, const float* to) { read_rows(from, 0, from.rows, const_cast<float*>(to)); }

}  // namespace

int64_t tiles_bytes(int64_t n, int64_t k, WeightType type) {
  CHECK_INVARIANT(n % kTileOutputs == 0 && k % kTileValues == 0);
  return n * k * (type == WeightType::i8 ? 1 : 2);
}

void pack_tile_row(float* w, int k, WeightType type, void* tiles, float* scale) {
  auto* const halves = static_cast<uint16_t*>(tiles);
  auto* const bytes = static_cast<uint8_t*>(tiles);
  for (int o = 0; o < kTileOutputs; o++) {
    float* const row = w + int64_t{o} * k;
    float largest = 0;
    for (int i = 0; i < k; i++) largest = std::max(largest, std::abs(row[i]));
    const float step = largest > 0 ? largest / 127 : 1.0f;
    if (type == WeightType::i8) scale[o] = step;
    for (int i = 0; i < k; i++) {
      const int lane = o / 2 * 4 + i % 32 / 8, half_step = i % 8 / 4, word = i % 4 / 2 * 2 + o % 2;
      if (type == WeightType::i8) {
        const int value = static_cast<int>(std::lrint(row[i] / step));
        bytes[i / 32 * 512 + lane * 16 + half_step * 8 + word * 2 + i % 2] = static_cast<uint8_t>(value + 128);
        row[i] = static_cast<float>(value) * step;
      } else {
        const uint16_t value = type == WeightType::f16 ? cpu::f16_of(row[i]) : cpu::bf16_of(row[i]);
        halves[(i / 32 * 2 + half_step) * 256 + lane * 8 + word * 2 + i % 2] = value;
        row[i] = float_of(value, type);
      }
    }
  }
}

DecoderWeights decoder_weights(const Dims& dims, WeightType type, const std::byte* base) {
  DecoderWeights weights;
  lay_out(dims, type, base, weights);
  return weights;
}

int64_t decoder_weights_bytes(const Dims& dims, WeightType type) {
  DecoderWeights weights;
  return lay_out(dims, type, nullptr, weights);
}

void pack_decoder(const Weights& weights, WeightType type, Team& team, std::byte* base) {
  constexpr int kPiece = 64;  // tiles
  const Dims& dims = weights.dims;
  const int width = dims.width;
  const DecoderWeights to = decoder_weights(dims, type, base);
  std::vector<std::function<void()>> work;  // pieces that don't touch each other
  const auto pack = [&](const SmallWeights& packed, const Part& part, int outputs) {
    const int tiles = outputs / kTileOutputs;
    for (int tile = 0; tile < tiles; tile += kPiece) {
      work.push_back([=] { pack_part(part, type, packed, tile, std::min(tile + kPiece, tiles)); });
    }
  };
  for (int l = 0; l < dims.decoder_layers; l++) {
    const DecoderBlock& from = weights.decoder[l];
    const DecoderLayerWeights& layer = to.layers[l];
    copy_to(from.attn_ln.weight, layer.attn_gain);
    copy_to(from.cross_attn_ln.weight, layer.cross_gain);
    copy_to(from.mlp_ln.weight, layer.mlp_gain);
    const Linear* qkv[] = {&from.attn.query, &from.attn.key, &from.attn.value};
    for (int i = 0; i < 3; i++) pack(layer.qkv, {qkv[i]->weight, qkv[i]->bias, &from.attn_ln, i * width}, width);
    pack(layer.out, {from.attn.out.weight, from.attn.out.bias, nullptr, 0}, width);
    pack(layer.cross_q, {from.cross_attn.query.weight, from.cross_attn.query.bias, &from.cross_attn_ln, 0}, width);
    pack(layer.cross_out, {from.cross_attn.out.weight, from.cross_attn.out.bias, nullptr, 0}, width);
    pack(layer.fc1, {from.fc1.weight, from.fc1.bias, &from.mlp_ln, 0}, 4 * width);
    pack(layer.fc2, {from.fc2.weight, from.fc2.bias, nullptr, 0}, width);
  }
  copy_to(weights.decoder_positions, to.positions);
  copy_to(weights.decoder_ln.weight, to.gain);
  pack(to.logits, {weights.token_embedding, {}, &weights.decoder_ln, 0}, padded_vocabulary(dims.vocabulary));
  team.parallel_for(std::ssize(work), 1, [&](int64_t first, int64_t last, int) {
    for (; first < last; first++) work[first]();
  });
}

}  // namespace sotto::cuda
