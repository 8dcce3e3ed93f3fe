// Weights for the tests of the encoder's kernels: random, of values that half precision holds, so that the kernels and
// the plain f32 network are given the same ones; no vocabulary to speak of.
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "cuda/device.h"
#include "kernels/cuda/encoder_weights.h"
#include "kernels/reference/model.h"
#include "kernels/team.h"
#include "models/weights.h"

namespace sotto::test {

template <class T>
constexpr cuda::Half kHalf = cuda::kSame<T, cuda::f16> ? cuda::Half::f16 : cuda::Half::bf16;

// Normally distributed values that T holds.
template <class T>
std::vector<float> random_halves(size_t n, uint32_t seed, float deviation = 1, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = cuda::to_float(cuda::from_float<T>(normal(random)));
  return values;
}

template <class T>
class EncoderMaker {
 public:
  std::shared_ptr<const Weights> make(const Dims& dims) {
    const int width = dims.width;
    Weights& w = made_->weights;
    w.dims = dims;
    w.conv1 = linear(width, 3 * dims.mel_bins);
    w.conv2 = linear(width, 3 * width);
    w.encoder_positions = matrix(kAudioContext, width, 0.3f);
    w.encoder.resize(dims.encoder_layers);
    for (EncoderBlock& block : w.encoder) {
      block = {norm(width), attention(width), norm(width), linear(4 * width, width), linear(width, 4 * width)};
    }
    w.encoder_ln = norm(width);
    w.token_embedding = matrix(dims.vocabulary, width, 1);
    w.decoder_positions = matrix(kTextContext, width, 1);
    w.decoder.resize(dims.decoder_layers);
    for (DecoderBlock& block : w.decoder) {
      const Linear small = linear(width, width);
      block = {norm(width), {small, small, small, small}, norm(width), attention(width), norm(width),
               small, small};
    }
    w.decoder_ln = norm(width);
    return {made_, &made_->weights};
  }

 private:
  struct Made {
    Weights weights;
    std::deque<std::vector<float>> storage;
  };

  Stored matrix(int64_t rows, int64_t cols, float deviation, float mean = 0) {
    const std::vector<float>& values =
        made_->storage.emplace_back(random_halves<T>(rows * cols, ++seed_, deviation, mean));
    return {reinterpret_cast<const std::byte*>(values.data()), Encoding::f32, rows, cols};
  }
  Linear linear(int out, int in) { return {matrix(out, in, 1 / std::sqrt(float(in))), matrix(1, out, 0.1f)}; }
  Norm norm(int width) { return {matrix(1, width, 0.1f, 1), matrix(1, width, 0.1f)}; }
  Attention attention(int width) {
    Attention a = {linear(width, width), linear(width, width), linear(width, width), linear(width, width)};
    a.query.weight = matrix(width, width, 3 / std::sqrt(float(width)));  // so that attention is not all even
    a.key.bias = {};
    return a;
  }

  uint32_t seed_ = 0;
  std::shared_ptr<Made> made_ = std::make_shared<Made>();
};

// One model as the plain network and as the kernels have it.
template <class T>
struct EncoderModel {
  explicit EncoderModel(const Dims& dims, bool bytes = false) : EncoderModel(EncoderMaker<T>().make(dims), bytes) {}
  explicit EncoderModel(std::shared_ptr<const Weights> weights, bool bytes = false)
      : bytes(bytes), dims(weights->dims), plain(reference::read_model(weights, team)), host_blob(packed(*weights)),
        blob(host_blob), device(cuda::encoder_weights(dims, blob.data(), bytes)),
        host(cuda::encoder_weights(dims, host_blob.data(), bytes)) {}

  std::vector<std::byte> packed(const Weights& weights) {
    std::vector<std::byte> result(cuda::encoder_weights_bytes(dims, bytes));
    cuda::pack_encoder(weights, kHalf<T>, team, result.data(), bytes);
    return result;
  }

  bool bytes;
  Team team{0};
  Dims dims;
  reference::Model plain;
  std::vector<std::byte> host_blob;
  DeviceArray<std::byte> blob;
  cuda::EncoderWeights device, host;  // the same layout in the two blobs
};

}  // namespace sotto::test
