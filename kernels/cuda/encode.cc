#include "kernels/cuda/encode.h"

#include <utility>

#include "kernels/cuda/tile_table.h"

namespace sotto::cuda {
namespace {

constexpr int64_t kAlign = 1024;

int64_t lay_out(const Dims& dims, int64_t windows, std::byte* base, EncoderBuffers& to) {
  const int64_t width = dims.width, rows = windows * kRows, frames = windows * kFrameRows;
  std::byte* at = base;
  const auto take = [&](int64_t bytes) { return std::exchange(at, at + round_up(bytes, kAlign)); };
  to.mel = take(frames * dims.mel_bins * 2);
  to.conv1 = take((frames + 1) * width * 2);
  to.x = reinterpret_cast<float*>(take(rows * width * 4));
  to.y = take(rows * width * 2);
  to.qkv = to.hidden = take(rows * 4 * width * 2);
  return at - base;
}

}  // namespace

EncoderBuffers encoder_buffers(const Dims& dims, int windows, std::byte* base) {
  EncoderBuffers buffers;
  lay_out(dims, windows, base, buffers);
  return buffers;
}

int64_t encoder_buffers_bytes(const Dims& dims, int windows) {
  EncoderBuffers buffers;
  return lay_out(dims, windows, nullptr, buffers);
}

std::vector<Launch> encode_launches(const EncodeTask& task, const EncoderWeights& weights,
                                    const EncoderBuffers& buffers) {
  const Dims& dims = task.dims;
  const int width = dims.width, windows = task.windows, m = windows * kRows;
  const EncoderTiles& tiles = encoder_tiles(task.sms, width, windows);
  std::vector<Launch> launches;

  const auto product = [&](Product what, int tile, const void* a, const ProductWeights& w, void* to) {
    ProductArgs args = {.a = a, .w = w.w, .bias = w.bias, .to = to, .m = product_m(what, windows)};
    if (what == Product::conv2) args.positions = weights.positions;
    if (what == Product::cross_kv) {
      args.cross_v = task.cross_v;
      args.slots = task.slots;
      args.decoder_layers = dims.decoder_layers;
    }
    launches.push_back(launch_of(product_kernel(what, width, dims.mel_bins, task.half, tile),
                                 product_shape(what, width, dims.decoder_layers, args.m, tile), args));
  };
  const auto scales_of = [&](std::byte* half, int columns) {
    return reinterpret_cast<float*>(half + int64_t{m} * columns);
  };
  const auto norm = [&](const NormWeights& ln, bool bytes) {
    float* const scales = bytes ? scales_of(buffers.y, width) : nullptr;
    launches.push_back(launch_of(bytes ? layer_norm_s8_kernel(width) : layer_norm_kernel(width, task.half),
                                 layer_norm_shape(m),
                                 LayerNormArgs{buffers.x, ln.weight, ln.bias, buffers.y, m, scales}));
  };
  const auto wide_product = [&](Product what, int tile, std::byte* a, const ProductWeights& w, void* to) {
    if (!task.bytes) return product(what, tile, a, w, to);
    ProductS8Args args = {.product = {.a = a, .w = w.w, .bias = w.bias, .to = to, .m = m},
                          .a_scales = scales_of(a, product_k(what, width, dims.mel_bins)),
                          .w_scales = w.scales};
    if (what == Product::fc1) args.to_scales = scales_of(buffers.hidden, 4 * width);
    launches.push_back(launch_of(product_s8_kernel(what, width, task.half), product_s8_shape(what, width, m), args));
  };

  launches.push_back(launch_of(mel_operand_kernel(task.half), mel_operand_shape(windows, dims.mel_bins),
                               MelOperandArgs{task.mel, buffers.mel, dims.mel_bins}));
  product(Product::conv1, tiles.conv1, buffers.mel, weights.conv1, buffers.conv1);
  product(Product::conv2, tiles.x, buffers.conv1, weights.conv2, buffers.x);
  for (const EncoderLayerWeights& layer : weights.layers) {
    norm(layer.attn_ln, task.bytes);
    wide_product(Product::qkv, tiles.qkv, buffers.y, layer.qkv, buffers.qkv);
    launches.push_back(launch_of(encoder_attention_kernel(task.half, tiles.queries),
                                 encoder_attention_shape(windows, dims.heads, tiles.queries),
                                 EncoderAttentionArgs{buffers.qkv, buffers.y, dims.heads}));
    product(Product::out, tiles.x, buffers.y, layer.out, buffers.x);
    norm(layer.mlp_ln, task.bytes);
    wide_product(Product::fc1, tiles.fc1, buffers.y, layer.fc1, buffers.hidden);
    wide_product(Product::fc2, tiles.x, buffers.hidden, layer.fc2, buffers.x);
  }
  norm(weights.ln, false);
  product(Product::cross_kv, 0, buffers.y, weights.cross_kv, task.cross_k);
  return launches;
}

}  // namespace sotto::cuda
