#include "models/tiny_whisper.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

namespace sotto::testing {
namespace {

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// The nearest number with `digits` binary digits, ties to even, none finer than 2^least: how any float type rounds.
float rounded(float value, int digits, int least) {
  if (value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = std::max(exponent - digits, least);
  return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

uint16_t f16_bits(float value) {  // of a number that is one
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude < 0x1p-14f) return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  return sign | static_cast<uint16_t>((exponent + 14) << 10) | static_cast<uint16_t>(std::ldexp(fraction, 11) - 1024);
}

float to_f16(float value) { return rounded(value, 11, -24); }

void put_f16(std::string& out, float value) { put<uint16_t>(out, f16_bits(value)); }

// The nibbles of 32 values, and the fifth bits if there are any.
void put_quants(std::string& out, const std::vector<int>& q, bool five) {
  if (five) {
    uint32_t high = 0;
    for (int i = 0; i < 32; ++i) high |= static_cast<uint32_t>(q[i] >> 4) << i;
    put(out, high);
  }
  for (int i = 0; i < 16; ++i) put<uint8_t>(out, static_cast<uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4));
}

void encode_block(const float* values, Encoding encoding, Written& out) {
  const auto [low, high] = std::minmax_element(values, values + 32);
  const float largest = std::max(std::fabs(*low), std::fabs(*high));
  const bool five = encoding == Encoding::q5_0 || encoding == Encoding::q5_1;
  const bool offset = encoding == Encoding::q4_1 || encoding == Encoding::q5_1;
  const int levels = encoding == Encoding::q8_0 ? 255 : five ? 31 : 15;
  const int zero = offset ? 0 : (levels + 1) / 2;
  const float m = offset ? to_f16(*low) : 0;
  const float d = to_f16(offset ? (*high - *low) / static_cast<float>(levels) : largest / static_cast<float>(zero - 1));
  std::vector<int> q(32);
  for (int i = 0; i < 32; ++i) {
    const float steps = d == 0 ? 0 : std::nearbyint((values[i] - m) / d);
    q[i] = std::clamp(static_cast<int>(steps) + zero, 0, levels);
    out.values.push_back(static_cast<float>(q[i] - zero) * d + m);
  }
  put_f16(out.bytes, d);
  if (offset) put_f16(out.bytes, m);
  if (encoding == Encoding::q8_0) {
    for (const int each : q) put<int8_t>(out.bytes, static_cast<int8_t>(each - zero));
  } else {
    put_quants(out.bytes, q, five);
  }
}

void encode_int8_row(const float* values, int64_t cols, Written& out) {
  float largest = 0;
  for (int64_t i = 0; i < cols; ++i) largest = std::max(largest, std::fabs(values[i]));
  const float scale = largest == 0 ? 1 : 127 / largest;
  out.row_scales.push_back(scale);
  for (int64_t i = 0; i < cols; ++i) {
    const float q = std::nearbyint(values[i] * scale);
    put<int8_t>(out.bytes, static_cast<int8_t>(q));
    out.values.push_back(q / scale);
  }
}

}  // namespace

TinyWhisper::TinyWhisper(int n_encoder, int n_decoder) : encoder_layers(n_encoder), decoder_layers(n_decoder) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.05f);
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    TinyTensor tensor{name, std::move(shape), std::vector<float>(static_cast<size_t>(n))};
    for (float& value : tensor.values) value = normal(random);
    tensors.push_back(std::move(tensor));
  };
  const auto add_pair = [&](const std::string& name, std::vector<int64_t> shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  const auto add_block = [&](const std::string& at, bool cross) {
    for (const char* kind : {"attn", "cross_attn"}) {
      if (kind[0] == 'c' && !cross) continue;
      add_pair(at + kind + "_ln", {kWidth});
      for (const char* part : {".query", ".value", ".out"}) add_pair(at + kind + part, {kWidth, kWidth});
      add(at + kind + ".key.weight", {kWidth, kWidth});
    }
    add_pair(at + "mlp_ln", {kWidth});
    add_pair(at + "mlp.0", {4 * kWidth, kWidth});
    add_pair(at + "mlp.2", {kWidth, 4 * kWidth});
  };
  add_pair("encoder.conv1", {kWidth, kMelBins, 3});
  add_pair("encoder.conv2", {kWidth, kWidth, 3});
  add("encoder.positional_embedding", {kAudioContext, kWidth});
  for (int i = 0; i < encoder_layers; ++i) add_block("encoder.blocks." + std::to_string(i) + ".", false);
  add_pair("encoder.ln_post", {kWidth});
  add("decoder.token_embedding.weight", {kVocabulary, kWidth});
  add("decoder.positional_embedding", {kTextContext, kWidth});
  for (int i = 0; i < decoder_layers; ++i) add_block("decoder.blocks." + std::to_string(i) + ".", true);
  add_pair("decoder.ln", {kWidth});
}

TinyTensor& TinyWhisper::find(std::string_view name) {
  for (TinyTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::logic_error("no tensor " + std::string(name));
}

Written encode(const std::vector<float>& values, int64_t cols, Encoding encoding) {
  Written out;
  const int64_t n = static_cast<int64_t>(values.size());
  switch (encoding) {
    case Encoding::f32:
      for (const float value : values) put(out.bytes, value);
      out.values = values;
      break;
    case Encoding::f16:
      for (const float value : values) {
        out.values.push_back(to_f16(value));
        put_f16(out.bytes, out.values.back());
      }
      break;
    case Encoding::bf16:
      for (const float value : values) {
        out.values.push_back(rounded(value, 8, -133));
        uint32_t bits;
        std::memcpy(&bits, &out.values.back(), sizeof(bits));
        put<uint16_t>(out.bytes, static_cast<uint16_t>(bits >> 16));
      }
      break;
    case Encoding::i8:
      for (int64_t i = 0; i < n; i += cols) encode_int8_row(values.data() + i, cols, out);
      break;
    default:
      for (int64_t i = 0; i < n; i += 32) encode_block(values.data() + i, encoding, out);
  }
  return out;
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw std::runtime_error("can't write " + path);
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void for_each_tensor(const Weights& weights, const std::function<void(const std::string&, const Stored&)>& visit) {
  const auto linear = [&](const std::string& at, const Linear& of) {
    visit(at + ".weight", of.weight);
    if (of.bias) visit(at + ".bias", of.bias);
  };
  const auto norm = [&](const std::string& at, const Norm& of) {
    visit(at + ".weight", of.weight);
    visit(at + ".bias", of.bias);
  };
  const auto attention = [&](const std::string& at, const Attention& of) {
    linear(at + ".query", of.query);
    linear(at + ".key", of.key);
    linear(at + ".value", of.value);
    linear(at + ".out", of.out);
  };
  linear("encoder.conv1", weights.conv1);
  linear("encoder.conv2", weights.conv2);
  visit("encoder.positional_embedding", weights.encoder_positions);
  for (size_t i = 0; i < weights.encoder.size(); ++i) {
    const std::string at = "encoder.blocks." + std::to_string(i) + ".";
    const EncoderBlock& block = weights.encoder[i];
    norm(at + "attn_ln", block.attn_ln);
    attention(at + "attn", block.attn);
    norm(at + "mlp_ln", block.mlp_ln);
    linear(at + "mlp.0", block.fc1);
    linear(at + "mlp.2", block.fc2);
  }
  norm("encoder.ln_post", weights.encoder_ln);
  visit("decoder.token_embedding.weight", weights.token_embedding);
  visit("decoder.positional_embedding", weights.decoder_positions);
  for (size_t i = 0; i < weights.decoder.size(); ++i) {
    const std::string at = "decoder.blocks." + std::to_string(i) + ".";
    const DecoderBlock& block = weights.decoder[i];
    norm(at + "attn_ln", block.attn_ln);
    attention(at + "attn", block.attn);
    norm(at + "cross_attn_ln", block.cross_attn_ln);
    attention(at + "cross_attn", block.cross_attn);
    norm(at + "mlp_ln", block.mlp_ln);
    linear(at + "mlp.0", block.fc1);
    linear(at + "mlp.2", block.fc2);
  }
  norm("decoder.ln", weights.decoder_ln);
}

}  // namespace sotto::testing
