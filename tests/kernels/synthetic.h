// Small Whispers with random weights, made in memory, and a forward pass over them in double precision that is written
// for nothing but to be checked by eye: what the engines are tested against.
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "models/dims.h"
#include "models/weights.h"

namespace sotto::test {

struct Synthetic {
  Weights weights;
  std::deque<std::vector<float>> storage;
};

class SyntheticMaker {
 public:
  explicit SyntheticMaker(uint32_t seed) : random_(seed) {}

  std::shared_ptr<const Weights> make(const Dims& dims) {
    const int width = dims.width;
    Weights& w = made_->weights;
    w.dims = dims;
    w.name = "synthetic";
    w.conv1 = linear(width, dims.mel_bins * 3);
    w.conv2 = linear(width, width * 3);
    w.encoder_positions = matrix(kAudioContext, width, 0.3f);
    for (int i = 0; i < dims.encoder_layers; i++) {
      w.encoder.push_back(
          {norm(width), attention(width), norm(width), linear(4 * width, width), linear(width, 4 * width)});
    }
    w.encoder_ln = norm(width);
    w.token_embedding = matrix(dims.vocabulary, width, 0.25f);
    w.decoder_positions = matrix(kTextContext, width, 0.3f);
    for (int i = 0; i < dims.decoder_layers; i++) {
      w.decoder.push_back({norm(width), attention(width), norm(width), attention(width), norm(width),
                           linear(4 * width, width), linear(width, 4 * width)});
    }
    w.decoder_ln = norm(width);
    favour_eot();
    for (int i = 0; i < dims.decoder_layers; i++) w.alignment_heads.push_back({i, (i + 1) % dims.heads});
    return {made_, &made_->weights};
  }

 private:
  Stored matrix(int64_t rows, int64_t cols, float deviation, float mean = 0) {
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float>& values = made_->storage.emplace_back(rows * cols);
    for (float& value : values) value = normal(random_);
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

  // Random logits of 50,000 tokens hardly ever choose one of them: shift end-of-transcript's to where the largest are.
  void favour_eot() {
    const int width = made_->weights.dims.width;
    float* bias = const_cast<float*>(reinterpret_cast<const float*>(made_->weights.decoder_ln.bias.data));
    float* row = const_cast<float*>(reinterpret_cast<const float*>(made_->weights.token_embedding.data)) +
                 int64_t{special_tokens(made_->weights.dims.vocabulary).eot} * width;
    for (int i = 0; i < 16; i++) {
      bias[i] += 1;
      row[i] += 0.5f;
    }
  }

  std::mt19937 random_;
  std::shared_ptr<Synthetic> made_ = std::make_shared<Synthetic>();
};

inline std::shared_ptr<const Weights> synthetic_weights(const Dims& dims, uint32_t seed = 1) {
  return SyntheticMaker(seed).make(dims);
}

inline std::vector<float> synthetic_mel(int bins, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.5f);
  std::vector<float> mel(int64_t{kMelFrames} * bins);
  for (float& value : mel) value = normal(random);
  return mel;
}

// ---- The network in double precision -------------------------------------------------------------------------------

using Rows = std::vector<std::vector<double>>;

inline double dot(const double* a, const double* b, int n) {
  double sum[8] = {}, rest = 0;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; j++) sum[j] += a[i + j] * b[i + j];
  }
  for (; i < n; i++) rest += a[i] * b[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])) + rest;
}

class Naive {
 public:
  explicit Naive(std::shared_ptr<const Weights> weights) : w_(std::move(weights)) {}

  Rows encode(const std::vector<float>& mel) const {
    Rows x(kMelFrames);
    for (int t = 0; t < kMelFrames; t++) x[t].assign(mel.begin() + t * bins(), mel.begin() + (t + 1) * bins());
    x = convolve(w_->conv1, convolve_input(x, 1));
    x = convolve(w_->conv2, convolve_input(x, 2));
    const Rows positions = read(w_->encoder_positions);
    for (size_t t = 0; t < x.size(); t++) add(x[t], positions[t]);
    for (const EncoderBlock& block : w_->encoder) {
      const Rows y = normalise(block.attn_ln, x);
      add(x, attend(block.attn, y, y, false, nullptr));
      add(x, apply(block.fc2, gelu(apply(block.fc1, normalise(block.mlp_ln, x)))));
    }
    return normalise(w_->encoder_ln, x);
  }

  // Logits at each position. qk: of each alignment head, [position][1500].
  Rows decode(const Rows& encoded, std::span<const int> tokens, std::vector<Rows>* qk = nullptr) const {
    const Rows embedding = read(w_->token_embedding), positions = read(w_->decoder_positions);
    Rows x;
    for (size_t i = 0; i < tokens.size(); i++) {
      x.push_back(embedding[tokens[i]]);
      add(x[i], positions[i]);
    }
    if (qk) qk->assign(w_->alignment_heads.size(), {});
    for (size_t l = 0; l < w_->decoder.size(); l++) {
      const DecoderBlock& block = w_->decoder[l];
      const Rows y = normalise(block.attn_ln, x);
      add(x, attend(block.attn, y, y, true, nullptr));
      std::vector<Rows> scores(w_->dims.heads);
      add(x, attend(block.cross_attn, normalise(block.cross_attn_ln, x), encoded, false, &scores));
      for (size_t h = 0; qk && h < qk->size(); h++) {
        const auto [layer, head] = w_->alignment_heads[h];
        if (layer == static_cast<int>(l)) (*qk)[h] = scores[head];
      }
      add(x, apply(block.fc2, gelu(apply(block.fc1, normalise(block.mlp_ln, x)))));
    }
    x = normalise(w_->decoder_ln, x);
    Rows logits(x.size(), std::vector<double>(embedding.size()));
    for (size_t i = 0; i < x.size(); i++) {
      for (size_t t = 0; t < embedding.size(); t++) {
        logits[i][t] = dot(x[i].data(), embedding[t].data(), w_->dims.width);
      }
    }
    return logits;
  }

 private:
  int bins() const { return w_->dims.mel_bins; }

  static Rows read(const Stored& stored) {
    const std::vector<float> values = read_all(stored);
    Rows rows;
    for (int64_t i = 0; i < stored.rows; i++) {
      rows.emplace_back(values.begin() + i * stored.cols, values.begin() + (i + 1) * stored.cols);
    }
    return rows;
  }
  static void add(std::vector<double>& x, const std::vector<double>& y) {
    for (size_t i = 0; i < x.size(); i++) x[i] += y[i];
  }
  static void add(Rows& x, const Rows& y) {
    for (size_t i = 0; i < x.size(); i++) add(x[i], y[i]);
  }

  static Rows apply(const Linear& linear, const Rows& x) {
    const Rows weight = read(linear.weight);
    const std::vector<double> bias = linear.bias ? read(linear.bias)[0] : std::vector<double>(weight.size());
    const int n = static_cast<int>(x[0].size());
    Rows y(x.size(), bias);
    for (size_t i = 0; i < x.size(); i++) {
      for (size_t o = 0; o < weight.size(); o++) y[i][o] += dot(x[i].data(), weight[o].data(), n);
    }
    return y;
  }
  static Rows normalise(const Norm& norm, Rows x) {
    const std::vector<double> weight = read(norm.weight)[0], bias = read(norm.bias)[0];
    for (std::vector<double>& row : x) {
      double mean = 0, variance = 0;
      for (double value : row) mean += value / row.size();
      for (double value : row) variance += (value - mean) * (value - mean) / row.size();
      const double scale = 1 / std::sqrt(variance + 1e-5);
      for (size_t i = 0; i < row.size(); i++) row[i] = (row[i] - mean) * scale * weight[i] + bias[i];
    }
    return x;
  }
  static Rows gelu(Rows x) {
    for (std::vector<double>& row : x) {
      for (double& value : row) value = value * (1 + std::erf(value / std::sqrt(2.0))) / 2;
    }
    return x;
  }

  // For each output frame the inputs its kernel of three covers, in the weights' order: [channel][tap].
  static Rows convolve_input(const Rows& x, int stride) {
    Rows columns;
    const int n = static_cast<int>(x.size());
    for (int t = 0; t < n; t += stride) {
      std::vector<double>& column = columns.emplace_back();
      for (size_t c = 0; c < x[0].size(); c++) {
        for (int at = t - 1; at <= t + 1; at++) column.push_back(at >= 0 && at < n ? x[at][c] : 0);
      }
    }
    return columns;
  }
  static Rows convolve(const Linear& conv, const Rows& columns) { return gelu(apply(conv, columns)); }

  // scores: of each head, [query][key], before the softmax.
  Rows attend(const Attention& attention, const Rows& x, const Rows& source, bool causal,
              std::vector<Rows>* scores) const {
    const Rows q = apply(attention.query, x), k = apply(attention.key, source), v = apply(attention.value, source);
    Rows result(x.size(), std::vector<double>(w_->dims.width));
    for (int head = 0; head < w_->dims.heads; head++) {
      for (size_t i = 0; i < x.size(); i++) {
        std::vector<double> p(causal ? i + 1 : source.size());
        for (size_t t = 0; t < p.size(); t++) p[t] = dot(&q[i][head * kHead], &k[t][head * kHead], kHead) / 8;
        if (scores) (*scores)[head].push_back(p);
        double sum = 0;
        for (double& value : p) sum += value = std::exp(value);
        for (size_t t = 0; t < p.size(); t++) {
          for (int d = 0; d < kHead; d++) result[i][head * kHead + d] += p[t] / sum * v[t][head * kHead + d];
        }
      }
    }
    return apply(attention.out, result);
  }

  std::shared_ptr<const Weights> w_;
};

// ||a - b|| / ||b||: the one metric of numeric tests.
template <class A, class B>
double relative_error(const A& a, const B& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); i++) {
    difference += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
    norm += double(b[i]) * double(b[i]);
  }
  return std::sqrt(difference / norm);
}

inline std::vector<double> flat(const Rows& rows) {
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

inline std::vector<double> log_softmax(const float* logits, int n) {
  double max = logits[0], sum = 0;
  for (int i = 0; i < n; i++) max = logits[i] > max ? logits[i] : max;
  for (int i = 0; i < n; i++) sum += std::exp(logits[i] - max);
  std::vector<double> result(n);
  for (int i = 0; i < n; i++) result[i] = logits[i] - max - std::log(sum);
  return result;
}

}  // namespace sotto::test
