#include "kernels/cuda/encoder_kernels.h"

namespace sotto::cuda {
namespace {

std::string half_name(Half half) { return half == Half::f16 ? "f16" : "bf16"; }

const char* product_name(Product product) {
  switch (product) {
    case Product::conv1: return "conv1";
    case Product::conv2: return "conv2";
    case Product::qkv: return "qkv";
    case Product::out: return "out";
    case Product::fc1: return "fc1";
    case Product::fc2: return "fc2";
    case Product::cross_kv: return "cross_kv";
  }
  return "";
}

uint32_t blocks(int64_t n, int64_t by) { return static_cast<uint32_t>(ceil_div(n, by)); }

}  // namespace

std::string product_kernel(Product product, int width, int bins, Half half, int tile) {
  const std::string of_bins = product == Product::conv1 ? std::string("_") + std::to_string(bins) : "";
  return std::string(product_name(product)) + "_" + half_name(half) + "_" + std::to_string(width) + of_bins + "_" +
         kTileNames[tile];
}

LaunchShape product_shape(Product product, int width, int decoder_layers, int m, int tile) {
  const Tile& t = kTiles[tile];
  return {.grid_x = blocks(product_n(product, width, decoder_layers), t.n),
          .grid_y = blocks(m, t.m),
          .threads = static_cast<uint32_t>(t.threads()),
          .shared_bytes = static_cast<uint32_t>(t.bytes())};
}

std::string product_s8_kernel(Product product, int width, Half half) {
  const std::string type = product == Product::qkv ? std::string("_") + half_name(half) : "";
  return product_name(product) + std::string("_s8") + type + "_" + std::to_string(width);
}

LaunchShape product_s8_shape(Product product, int width, int m) {
  return {.grid_x = blocks(product_n(product, width, 0), kByteTile.n),
          .grid_y = blocks(m, kByteTile.m),
          .threads = static_cast<uint32_t>(kByteTile.threads()),
          .shared_bytes = static_cast<uint32_t>(kByteTile.bytes())};
}

std::string layer_norm_kernel(int width, Half half) {
  return "layer_norm_" + half_name(half) + "_" + std::to_string(width);
}

std::string layer_norm_s8_kernel(int width) { return "layer_norm_s8_" + std::to_string(width); }

LaunchShape layer_norm_shape(int m) {
  return {.grid_x = blocks(m, kLayerNormThreads / 32), .threads = kLayerNormThreads};
}

std::string encoder_attention_kernel(Half half, int queries) {
  return "encoder_attention_" + half_name(half) + "_" + std::to_string(queries);
}

LaunchShape encoder_attention_shape(int windows, int heads, int queries) {
  return {.grid_x = blocks(kRows, queries),
          .grid_y = static_cast<uint32_t>(heads),
          .grid_z = static_cast<uint32_t>(windows),
          .threads = kAttentionThreads,
          .shared_bytes = 2 * 2 * kKeyTile * kHead * 2};  // two stages of keys and values
}

std::string mel_operand_kernel(Half half) { return "mel_operand_" + half_name(half); }

LaunchShape mel_operand_shape(int windows, int bins) {
  return {.grid_x = blocks(int64_t{kMelFrames} * bins / 4, kMelOperandThreads),
          .grid_y = static_cast<uint32_t>(windows),
          .threads = kMelOperandThreads};
}

}  // namespace sotto::cuda
