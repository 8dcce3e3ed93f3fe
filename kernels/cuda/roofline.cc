#include "kernels/cuda/roofline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/logits.h"
#include "kernels/cuda/shapes.h"
#include "kernels/cuda/tile_table.h"
#include "kernels/cuda/tiles.h"

namespace sotto::cuda {
namespace {

// NVIDIA's data sheets: A100 80 GB SXM, GeForce RTX 4090 (Ada whitepaper), H200 SXM. The cache's rates are what
// microbenchmarks on the web get, the link's those of PCIe 4.0 and 5.0 x16 in practice.
constexpr Chip kChips[] = {
    {"a100", "A100 80 GB", 108, 312e12, 624e12, 2.039e12, 5e12, 25e9, int64_t{80} << 30},
    {"4090", "RTX 4090", 128, 165.2e12, 660.6e12, 1.008e12, 5e12, 25e9, int64_t{24} << 30},
    {"h200", "H200", 132, 989e12, 1979e12, 4.8e12, 7e12, 50e9, int64_t{141} << 30},
};

double bytes_of(WeightType type) { return type == WeightType::i8 ? 1 : 2; }

}  // namespace

const Chip* find_chip(const std::string& name) {
  const auto found = std::find_if(std::begin(kChips), std::end(kChips), [&](const Chip& chip) { return name == chip.name; });
  return found == std::end(kChips) ? nullptr : found;
}

const Chip* chip_of(const std::string& device) {
  constexpr const char* kWords[] = {"A100", "4090", "H200"};
  static_assert(std::size(kWords) == std::size(kChips));
  for (size_t i = 0; i < std::size(kChips); i++) {
    if (device.find(kWords[i]) != std::string::npos) return &kChips[i];
  }
  return nullptr;
}

std::string known_chips() {
  std::string names;
  for (const Chip& chip : kChips) names.append(names.empty() ? "" : "|").append(chip.name);
  return names;
}

const char* stage_of(const std::string& kernel) {
  constexpr std::pair<const char*, const char*> kStages[] = {
      {"mel_operand", "mel"}, {"conv", "convolutions"}, {"qkv", "products"}, {"out", "products"}, {"fc", "products"},
      {"cross_kv", "cross keys and values"}, {"layer_norm", "norms"}, {"encoder_attention", "attention"},
      {"embed", "embedding"}, {"step_", "products"}, {"self_attention", "self attention"},
      {"cross_attention", "cross attention"}, {"logits", "logits and their scan"}, {"choose", "rules, beams, mail"}};
  for (const auto& [begin, stage] : kStages)
    if (kernel.starts_with(begin)) return stage;
  return "other";
}

std::vector<StageWork> encode_work(const Dims& dims, WeightType type, int sms, int windows) {
  const double width = dims.width, rows = double(windows) * kRows;
  const bool in_bytes = type == WeightType::i8;
  const EncoderTiles& tiles = encoder_tiles(sms, dims.width, windows);
  StageWork convolutions = {"convolutions"}, products = {"products"}, cross = {"cross keys and values"};
  const auto add = [&](StageWork& to, Product product, int tile_index, int times) {
    const bool s8 = in_bytes && can_be_bytes(product);
    const Tile tile = s8 ? kByteTile : kTiles[tile_index];
    const double m = product_m(product, windows), n = product_n(product, dims.width, dims.decoder_layers);
    const double k = product_k(product, dims.width, dims.mel_bins), lda = product_lda(product, dims.width, dims.mel_bins);
    const double row_blocks = std::ceil(m / tile.m), padded = row_blocks * tile.m, size = s8 ? 1 : 2;
    // x is read and written, in f32; conv2 adds positions instead, which all windows share. Rows past 1500 are not kept
    // as cross keys and values. Scales of bytes: one for 128.
    const double out = product == Product::cross_kv ? 2.0 * kAudioContext / kRows
                       : writes_x(product)          ? 8
                       : s8 && product == Product::fc1 ? 1 + 4.0 / kScaled
                                                       : 2;
    const double scales = s8 ? 4.0 / kScaled : 0;
    (s8 ? to.byte_ops : to.half_ops) += times * 2 * padded * n * k;
    to.bytes += times * (m * lda * (size + scales) + n * k * (size + scales) +
                         (product == Product::conv2 ? m * n * 4 + kRows * n * 4 : m * n * out));
    // Each block reads its rows of both operands; with them each warp the biases of its columns, and the scales of its
    // rows and columns.
    const double blocks = row_blocks * n / tile.n;
    to.asked += times * (blocks * (tile.m + tile.n) * k * size + blocks * tile.n * 4 * tile.warps_m + m * n * out);
    if (s8) to.asked += times * blocks * k / kScaled * 4 * (tile.m * tile.warps_n + tile.n * tile.warps_m);
    to.launches += times;
  };
  add(convolutions, Product::conv1, tiles.conv1, 1);
  add(convolutions, Product::conv2, tiles.x, 1);
  add(products, Product::qkv, tiles.qkv, dims.encoder_layers);
  add(products, Product::out, tiles.x, dims.encoder_layers);
  add(products, Product::fc1, tiles.fc1, dims.encoder_layers);
  add(products, Product::fc2, tiles.x, dims.encoder_layers);
  add(cross, Product::cross_kv, 0, 1);

  StageWork attention = {"attention", dims.encoder_layers};
  const double queries = std::ceil(double(kRows) / tiles.queries) * tiles.queries * dims.heads * windows;
  attention.half_ops = dims.encoder_layers * 4 * queries * kRows * kHead;
  attention.bytes = dims.encoder_layers * rows * width * 2 * 4;
  attention.asked = dims.encoder_layers * (queries * (1 + 2.0 * kRows / tiles.queries) * kHead * 2 + rows * width * 2);

  StageWork norms = {"norms", 2 * dims.encoder_layers + 1};
  const double half_norms = in_bytes ? 1 : norms.launches, byte_norms = norms.launches - half_norms;
  norms.bytes = rows * width * (half_norms * 6 + byte_norms * (5 + 4.0 / kScaled));
  // Weight and bias once more for each row, mostly of the first cache; a scale of bytes is a sector by itself.
  norms.asked = rows * width * (half_norms * 14 + byte_norms * (13 + 32.0 / kScaled));

  const double values = double(windows) * kMelFrames * dims.mel_bins;
  const StageWork mel = {"mel", 1, 0, 0, values * 2, values * 6, values * 4};
  return {mel, convolutions, products, attention, norms, cross};
}

std::vector<StageWork> step_work(const Dims& dims, WeightType type, int windows, int rows, int past) {
  const double width = dims.width, m = double(windows) * rows;
  const int n = dims.decoder_layers, passes = static_cast<int>(std::ceil(m / kMaxStepRows));
  const int padded = row_class(static_cast<int>(std::ceil(m / passes))), in_block = block_rows(padded);
  const double row_blocks = std::ceil(m / passes / in_block), computed = row_blocks * in_block * passes;
  const double live = m / passes;  // rows of one pass
  // norm: moments of the rows are read by every block. out: bytes that leave with each result, read ones included.
  // readers: of a block's operand.
  const auto product = [&](StageWork& to, double outputs, double k, double times, double outputs_of_block, bool norm,
                           double out, double readers = 1) {
    const double blocks = outputs / outputs_of_block;
    to.half_ops += times * 2 * computed * outputs * k;
    to.bytes += times * outputs * k * bytes_of(type) * passes;
    to.asked += times * passes * (outputs * k * bytes_of(type) * row_blocks + blocks * row_blocks * in_block * k * 2 * readers +
                                  (norm ? blocks * live * width / kMomentValues * sizeof(Moments) : 0) +
                                  outputs * row_blocks * in_block / 8 * (norm ? 8 : 4) + live * outputs * out);
  };
  constexpr double kResidual = 4 + 4 + 2 + 2;  // x, the operand, and a sector of moments for 16
  StageWork products = {"products", 6 * n * passes};
  const int tile = 16 * output_tiles(dims.width, in_block), wide_tile = 16 * output_tiles(4 * dims.width, in_block);
  for (const double outputs : {3.0, 1.0, 4.0}) product(products, outputs * width, width, n, tile, true, 2);
  product(products, width, width, 2 * n, tile, false, kResidual);
  product(products, width, 4 * width, n, wide_tile, false, kResidual);

  StageWork self = {"self attention", n * passes, 0, 0, n * 2 * m * past * width * 2};
  self.asked = self.bytes;
  const double groups = windows * std::ceil(rows / double{kGroupRows}), parts = cross_splits(dims.heads);
  StageWork cross = {"cross attention", n * passes, n * 4 * groups * kGroupRows * double(kRows) * width};
  cross.bytes = n * 2 * windows * double(kRows) * width * 2;
  // Keys and values; queries, by each warp, and results; what a block leaves of a row, with a sector for its sums, and the
  // last one reads; four words of the table by each warp.
  constexpr double kWarps = kCrossThreads / 32;
  cross.asked = n * (2 * groups * kRows * width * 2 + (parts * kWarps + 1) * m * width * 2 +
                     2 * parts * m * dims.heads * (kHead * 4 + 32) + parts * dims.heads * groups * kWarps * 4 * 32);
  StageWork logits = {"logits and their scan", passes};
  // Of each row and tile a sector for the row's place, one for its mass, and three for each pick.
  const double scan = 32 * (2 + 3.0 * (rows == 1 ? 1 : rows + 1)) / kLogitTile;
  product(logits, padded_vocabulary(dims.vocabulary), width, 1, kLogitTile, true, scan, kLogitThreads / 32 / kLogitSplit);

  const int lists = logit_lists(dims.vocabulary, special_tokens(dims.vocabulary).first_timestamp).n;
  const StageWork embedding = {"embedding", passes, 0, 0, m * width * 12, m * width * 12};
  const double left = m * lists * 20;  // a mass and the best pick of each tile
  const StageWork end = {"rules, beams, mail", passes, 0, 0, left, left};
  return {embedding, products, self, cross, logits, end};
}

Least least_time(const StageWork& work, const Chip& chip) {
  const Least limits[] = {{"multiplications", work.half_ops / chip.half_ops + work.byte_ops / chip.byte_ops},
                          {"memory", work.bytes / chip.read},
                          {"cache", work.asked / chip.cache},
                          {"link", work.host / chip.link}};
  return *std::ranges::max_element(limits, {}, &Least::seconds);
}

}  // namespace sotto::cuda
