#include "kernels/cpu/packed_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "kernels/cpu/half.h"
#include "kernels/cpu/pack_cache.h"
#include "models/error.h"

namespace sotto::cpu {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

template <class T>
void place(T*& pointer, int64_t count, char*& at) {
  pointer = reinterpret_cast<T*>(at);
  at += aligned(count * static_cast<int64_t>(sizeof(T)));
}

void place_norm(PackedNorm& norm, int width, char*& at) {
  place(norm.weight, width, at);
  place(norm.bias, width, at);
}

// Sets every pointer of the model, from `base` on; returns the bytes that all take.
int64_t lay_out(PackedModel& model, int panel, char* base) {
  const Dims& dims = model.dims;
  const int width = dims.width;
  char* at = base;
  auto linear = [&](PackedLinear& to, Type type, int n, int k) {
    to.type = type;
    to.n = n;
    to.k = k;
    place_linear(to, panel, at);
  };
  linear(model.conv1, Type::f32, width, dims.mel_bins * 3);
  linear(model.conv2, model.types.encoder, width, width * 3);
  place(model.encoder_positions, int64_t(kAudioContext) * width, at);
  place(model.decoder_positions, int64_t(kTextContext) * width, at);
  place_norm(model.encoder_ln, width, at);
  place_norm(model.decoder_ln, width, at);
  model.encoder.resize(dims.encoder_layers);
  for (PackedEncoderBlock& block : model.encoder) {
    const Type attention = &block == &model.encoder[0] ? model.types.first_attention : model.types.encoder;
    place_norm(block.attn_ln, width, at);
    place_norm(block.mlp_ln, width, at);
    linear(block.qkv, attention, 3 * width, width);
    linear(block.out, attention, width, width);
    linear(block.fc1, model.types.encoder, 4 * width, width);
    linear(block.fc2, model.types.encoder, width, 4 * width);
  }
  model.decoder.resize(dims.decoder_layers);
  for (PackedDecoderBlock& block : model.decoder) {
    place_norm(block.attn_ln, width, at);
    place_norm(block.cross_attn_ln, width, at);
    place_norm(block.mlp_ln, width, at);
    linear(block.cross_kv, model.types.encoder, 2 * width, width);
    linear(block.qkv, model.types.decoder, 3 * width, width);
    linear(block.out, model.types.decoder, width, width);
    linear(block.cross_q, model.types.decoder, width, width);
    linear(block.cross_out, model.types.decoder, width, width);
    linear(block.fc1, model.types.decoder, 4 * width, width);
    linear(block.fc2, model.types.decoder, width, 4 * width);
  }
  linear(model.logits, model.types.decoder, dims.vocabulary, width);
  return at - base;
}

// One row of B (one column of a panel): k values, `panel` groups apart.
struct PackedColumn {
  char* at;
  int64_t group_stride;
};

// scale, start: of the column's first scale, `stride` apart from one to the next.
void pack_int8(const float* row, int k, PackedColumn to, bool after_gelu, float* bias, float* scale, int32_t* start,
               int64_t stride) {
  for (int first = 0; first < k; first += kScaled, scale += stride, start += stride) {
    const int last = std::min(first + kScaled, k);
    float peak = 0;
    for (int i = first; i < last; i++) peak = std::max(peak, std::fabs(row[i]));
    *scale = peak > 0 ? peak / 127 : 1;
    int32_t sum = 0;
    for (int i = first; i < last; i++) {
      const int q = static_cast<int>(std::lrint(row[i] / *scale));
      sum += q;
      to.at[i / 4 * to.group_stride + i % 4] = static_cast<char>(q);
    }
    *start = after_gelu ? 0 : -kOffset * sum;
    if (after_gelu) *bias -= kGeluFloor * *scale * static_cast<float>(sum);
  }
}

void pack_row(Type type, const float* row, int k, PackedColumn to) {
  for (int i = 0; i < k; i++) {
    if (type == Type::f32) {
      std::memcpy(to.at + i * to.group_stride, row + i, 4);
    } else if (type == Type::f16) {
      const uint16_t half = f16_of(row[i]);
      std::memcpy(to.at + i * to.group_stride, &half, 2);
    } else {
      const uint16_t half = bf16_of(row[i]);
      std::memcpy(to.at + i / 2 * to.group_stride + i % 2 * 2, &half, 2);
    }
  }
}

std::vector<float> read(const Stored& from) { return from ? read_all(from) : std::vector<float>(); }

void pack_from(std::initializer_list<const Linear*> parts, const PackedLinear& to, int panel, bool after_gelu = false) {
  std::vector<float> weight, bias;
  for (const Linear* part : parts) {
    std::vector<float> w = read_all(part->weight);
    std::vector<float> b = read(part->bias);
    b.resize(part->weight.rows);  // a missing bias is zeros
    if (weight.empty()) {
      weight = std::move(w);
    } else {
      weight.insert(weight.end(), w.begin(), w.end());
    }
    bias.insert(bias.end(), b.begin(), b.end());
  }
  pack_linear(weight.data(), bias.data(), to, panel, after_gelu);
}

void copy_to(const Stored& from, float* to) { read_rows(from, 0, from.rows, to); }

void copy_norm(const Norm& from, const PackedNorm& to) {
  copy_to(from.weight, to.weight);
  copy_to(from.bias, to.bias);
}

// [out][in][tap] becomes [out][tap][in], so that one row of A is frames that follow each other.
void pack_convolution(const Linear& from, const PackedLinear& to, int panel, bool after_gelu) {
  const std::vector<float> w = read_all(from.weight), bias = read_all(from.bias);
  std::vector<float> turned(w.size());
  const int channels = to.k / 3;
  for (int o = 0; o < to.n; o++) {
    for (int c = 0; c < channels; c++) {
      for (int tap = 0; tap < 3; tap++)
        turned[int64_t(o) * to.k + tap * channels + c] = w[int64_t(o) * to.k + c * 3 + tap];
    }
  }
  pack_linear(turned.data(), bias.data(), to, panel, after_gelu);
}

// Of int8, each column of the embedding has a peak of 1, and the norm before it the column's scale: the rounding of the
// logits' weights is half as coarse then, since no column's values are lost beside another's.
void pack_logits(const Weights& weights, const PackedModel& model, int panel) {
  copy_norm(weights.decoder_ln, model.decoder_ln);
  std::vector<float> embedding = read_all(weights.token_embedding);
  const int width = model.dims.width;
  if (model.logits.type == Type::i8) {
    std::vector<float> peak(width, 1e-6f);
    for (size_t i = 0; i < embedding.size(); i++) peak[i % width] = std::max(peak[i % width], std::fabs(embedding[i]));
    for (size_t i = 0; i < embedding.size(); i++) embedding[i] /= peak[i % width];
    for (int i = 0; i < width; i++) {
      model.decoder_ln.weight[i] *= peak[i];
      model.decoder_ln.bias[i] *= peak[i];
    }
  }
  pack_linear(embedding.data(), nullptr, model.logits, panel, false);
}

// All that there is to pack, in pieces that do not touch each other.
std::vector<std::function<void()>> pieces(const PackedModel& model, int panel) {
  const Weights& weights = *model.weights;
  std::vector<std::function<void()>> result;
  result.push_back([&weights, &model, panel] { pack_logits(weights, model, panel); });
  result.push_back([&weights, &model, panel] {
    pack_convolution(weights.conv1, model.conv1, panel, false);
    pack_convolution(weights.conv2, model.conv2, panel, true);
    copy_to(weights.encoder_positions, model.encoder_positions);
    copy_to(weights.decoder_positions, model.decoder_positions);
    copy_norm(weights.encoder_ln, model.encoder_ln);
  });
  for (size_t i = 0; i < model.encoder.size(); i++) {
    result.push_back([&from = weights.encoder[i], &to = model.encoder[i], panel] {
      copy_norm(from.attn_ln, to.attn_ln);
      copy_norm(from.mlp_ln, to.mlp_ln);
      pack_from({&from.attn.query, &from.attn.key, &from.attn.value}, to.qkv, panel);
      pack_from({&from.attn.out}, to.out, panel);
      pack_from({&from.fc1}, to.fc1, panel);
      pack_from({&from.fc2}, to.fc2, panel, true);
    });
  }
  for (size_t i = 0; i < model.decoder.size(); i++) {
    result.push_back([&from = weights.decoder[i], &to = model.decoder[i], panel] {
      copy_norm(from.attn_ln, to.attn_ln);
      copy_norm(from.cross_attn_ln, to.cross_attn_ln);
      copy_norm(from.mlp_ln, to.mlp_ln);
      pack_from({&from.attn.query, &from.attn.key, &from.attn.value}, to.qkv, panel);
      pack_from({&from.attn.out}, to.out, panel);
      pack_from({&from.cross_attn.query}, to.cross_q, panel);
      pack_from({&from.cross_attn.key, &from.cross_attn.value}, to.cross_kv, panel);
      pack_from({&from.cross_attn.out}, to.cross_out, panel);
      pack_from({&from.fc1}, to.fc1, panel);
      pack_from({&from.fc2}, to.fc2, panel, true);
    });
  }
  return result;
}

const char* name_of(Precision precision) {
  return precision == Precision::f32 ? "f32" : precision == Precision::bf16 ? "bf16" : "int8";
}

}  // namespace

Precision precision_named(const std::string& name, const Kernels& kernels) {
  if (name.empty() || name == "auto") return kernels.native_i8 ? Precision::i8 : Precision::f32;
  if (name == "f32") return Precision::f32;
  if (name == "bf16") return Precision::bf16;
  if (name == "int8") return Precision::i8;
  throw Error("the processor has no precision " + name + ": use auto, f32, bf16 or int8");
}

Types types_of(Precision precision, const Kernels& kernels, const Weights& weights) {
  const Type half = kernels.half_storage, f32 = Type::f32, bf16 = Type::bf16, i8 = Type::i8;
  if (precision == Precision::bf16 && kernels.native_bf16) return {bf16, bf16, bf16, bf16, half, half};
  if (precision == Precision::i8) return {i8, i8, kernels.native_bf16 ? bf16 : f32, i8, i8, half};
  const bool f16 = weights.token_embedding.encoding == Encoding::f16;  // then f16 holds them without loss
  return {f32, f16 ? half : f32, f32, f32, f32, f32};
}

void place_linear(PackedLinear& linear, int panel, char*& at) {
  const int64_t columns = int64_t(linear.panels(panel)) * panel;
  place(linear.b, columns * linear.groups() * group_bytes(linear.type), at);
  place(linear.bias, columns, at);
  linear.b_scale = nullptr;
  linear.b_start = nullptr;
  if (linear.type == Type::i8) {
    place(linear.b_scale, columns * scales_of(linear.k), at);
    place(linear.b_start, columns * scales_of(linear.k), at);
  }
}

int64_t packed_bytes(const PackedLinear& shape, int panel) {
  PackedLinear linear = shape;
  char* at = nullptr;
  place_linear(linear, panel, at);
  return at - static_cast<char*>(nullptr);
}

void pack_linear(const float* weight, const float* bias, const PackedLinear& to, int panel, bool after_gelu) {
  const int64_t group = group_bytes(to.type), stride = panel * group, columns = int64_t(to.panels(panel)) * panel;
  for (int n = 0; n < to.n; n++) {
    const PackedColumn column = {to.b + int64_t(n / panel) * to.groups() * stride + n % panel * group, stride};
    const float* row = weight + int64_t(n) * to.k;
    to.bias[n] = bias ? bias[n] : 0;
    if (to.type == Type::i8) {
      pack_int8(row, to.k, column, after_gelu, to.bias + n, to.b_scale + n, to.b_start + n, columns);
    } else {
      pack_row(to.type, row, to.k, column);
    }
  }
}

PackedModel pack_model(std::shared_ptr<const Weights> weights, const Kernels& kernels, Precision precision,
                       Team& team) {
  PackedModel model;
  model.dims = weights->dims;
  model.weights = weights;
  model.types = types_of(precision, kernels, *weights);
  const int64_t bytes = lay_out(model, kernels.panel, nullptr);
  const std::string key = weights->digest + "-" + kernels.name + "-" + name_of(precision);
  const PackBuffer buffer = open_pack(key, bytes, [&](char* base) {
    lay_out(model, kernels.panel, base);
    const std::vector<std::function<void()>> work = pieces(model, kernels.panel);
    team.parallel_for(int64_t(work.size()), 1, [&](int64_t first, int64_t last, int) {
      for (; first < last; first++) work[first]();
    });
  });
  lay_out(model, kernels.panel, buffer.base);
  model.memory = buffer.memory;
  return model;
}

}  // namespace sotto::cpu
