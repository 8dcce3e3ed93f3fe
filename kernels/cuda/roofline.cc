#include "kernels/cuda/roofline.h"

#include <algorithm>
#include <iterator>

#include "kernels/cuda/logits.h"
#include "kernels/cuda/shapes.h"

namespace sotto::cuda {
namespace {

// NVIDIA's data sheets: A100 80 GB SXM, GeForce RTX 4090 (Ada whitepaper), H200 SXM.
constexpr Chip kChips[] = {
    {"a100", "A100 80 GB", 108, 312e12, 2.039e12, int64_t{80} << 30},
    {"4090", "RTX 4090", 128, 165.2e12, 1.008e12, int64_t{24} << 30},
    {"h200", "H200", 132, 989e12, 4.8e12, int64_t{141} << 30},
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

std::vector<StageWork> encode_work(const Dims& dims, int windows) {
  const double width = dims.width, rows = double(windows) * kRows;
  StageWork products = {"products", 0, 0, 0}, convolutions = {"convolutions", 0, 0, 0};
  const auto add = [&](StageWork& to, Product product, int times) {
    const double m = product_m(product, windows), n = product_n(product, dims.width, dims.decoder_layers);
    const double k = product_k(product, dims.width, dims.mel_bins), lda = product_lda(product, dims.width, dims.mel_bins);
    // x is read and written, in f32; conv2 only writes it.
    const double out = product == Product::conv2 ? 4 : writes_x(product) ? 8 : 2;
    to.ops += times * 2 * m * n * k;
    to.bytes += times * (2 * m * lda + 2 * n * k + out * m * n);
    to.launches += times;
  };
  add(convolutions, Product::conv1, 1);
  add(convolutions, Product::conv2, 1);
  for (Product product : {Product::qkv, Product::out, Product::fc1, Product::fc2}) add(products, product, dims.encoder_layers);
  StageWork cross = {"cross keys and values", 0, 0, 0};
  add(cross, Product::cross_kv, 1);
  const StageWork attention = {"attention", dims.encoder_layers * 4.0 * windows * kRows * kRows * width,
                               dims.encoder_layers * rows * width * 2 * 4, dims.encoder_layers};
  const int norms = 2 * dims.encoder_layers + 1;
  const StageWork norm = {"norms", 0, norms * rows * width * 6, norms};
  const StageWork mel = {"mel", 0, double(windows) * kMelFrames * dims.mel_bins * 6, 1};
  return {mel, convolutions, products, attention, norm, cross};
}

std::vector<StageWork> step_work(const Dims& dims, WeightType type, int windows, int rows, int past) {
  const double width = dims.width, m = double(windows) * rows, layers = dims.decoder_layers;
  const double weights = layers * 14 * width * width;  // qkv 3, out, cross q, cross out, fc1 4, fc2 4
  const double logits = double(padded_vocabulary(dims.vocabulary)) * width;
  const int n = dims.decoder_layers;
  return {
      {"embedding", 0, m * width * 12, 1},
      {"products", 2 * m * weights, weights * bytes_of(type), 6 * n},
      {"self attention", layers * 4 * m * past * width, layers * 2 * m * past * width * 2, n},
      {"cross attention", layers * 4 * m * kAudioContext * width, layers * 2 * windows * kRows * width * 2, n},
      {"logits and their scan", 2 * m * logits, logits * bytes_of(type), 1},
      {"rules, beams, mail", 0, m * 16e3, 1},
  };
}

double least_seconds(const StageWork& work, const Chip& chip) {
  return std::max(work.ops / chip.half_ops, work.bytes / chip.read);
}

}  // namespace sotto::cuda
