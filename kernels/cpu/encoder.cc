#include "kernels/cpu/encoder.h"

#include <algorithm>
#include <cstring>

namespace sotto::cpu {
namespace {

constexpr int kRowBlock = kAttentionRows;
static_assert(kRowBlock % 6 == 0);

}  // namespace

HeadKv::HeadKv(int layers, int heads, Type key_type, Type value_type)
    : key_type(key_type),
      value_type(value_type),
      heads_(heads),
      key_bytes_(keys_bytes(key_type, kAudioContext)),
      value_bytes_(values_bytes(value_type, kAudioContext)),
      data_((key_bytes_ + value_bytes_) * heads * layers) {}

void HeadKv::write(const Kernels& kernels, int layer, View kv, int first, int rows) const {
  for (int head = 0; head < heads_; head++) {
    PackHead part = {kv.x + head * kHead, kv.stride, first, rows, padded_keys(kAudioContext), keys(layer, head)};
    kernels.pack_keys[int(key_type)](part);
    part.x += heads_ * kHead;
    part.out = values(layer, head);
    kernels.pack_values[int(value_type)](part);
  }
}

Encoder::Encoder(const PackedModel& model, const Kernels& kernels, Team& team)
    : model_(model),
      kernels_(kernels),
      team_(team),
      width_(model.dims.width),
      mel_((kMelFrames + 2) * model.dims.mel_bins),
      conv1_(kMelFrames + 2, width_, 0),
      x_(kAudioContext * width_),
      q_(kAudioContext * width_),
      kv_(2, model.dims.heads, model.types.encoder_keys, model.types.encoder_values) {
  std::vector<float> zeros(width_);
  for (const int row : {0, kMelFrames + 1}) {
    Rows around = conv1_.rows(model.conv2.type, {}, row, 1, width_);
    around.x = zeros.data();
    kernels.operand[int(model.conv2.type)](around, Range::gelu);
  }
  for (int i = 0; i < team.threads(); i++) {
    scratch_.push_back({OperandBuffer(kRowBlock, width_), OperandBuffer(kRowBlock, 4 * width_),
                        Buffer<float>(kRowBlock * (4 * width_ + 16))});
  }
}

// Calls work(first, rows, scratch) for blocks of rows on all threads: enough blocks that no thread waits long.
template <class Work>
void Encoder::for_blocks(int rows, const Work& work) {
  const int pieces = team_.threads() * 8;
  const int block = std::clamp((rows / pieces + 5) / 6 * 6, 24, kRowBlock);
  team_.parallel_for((rows + block - 1) / block, 1, [&](int64_t from, int64_t to, int thread) {
    for (int first = static_cast<int>(from) * block; first < std::min<int64_t>(rows, to * block); first += block)
      work(first, std::min(block, rows - first), scratch_[thread]);
  });
}

void Encoder::product(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c) const {
  kernels_.product[int(linear.type)](product_of(linear, a, rows, epilogue, c, kernels_.panel));
}

void Encoder::norm(const PackedNorm& norm, Type type, View x, int rows, const OperandBuffer& out) const {
  kernels_.norm[int(type)](out.rows(type, x, 0, rows, width_), norm.weight, norm.bias);
}

// f32 rows are operands as they are.
Operand Encoder::operand(Type type, View x, int rows, int width, Range range, const OperandBuffer& out) const {
  if (operand_bytes(type) == 4) return {x.x, x.stride * 4, nullptr};
  kernels_.operand[int(type)](out.rows(type, x, 0, rows, width), range);
  return out.operand(type, width);
}

void Encoder::run(const float* mel, const HeadKv& cross, float* out) {
  convolve(mel);
  for (int layer = 0; layer < model_.dims.encoder_layers; layer++) {
    for_blocks(kAudioContext, [&](int first, int rows, const Scratch& scratch) {
      attend(layer, first, rows, scratch);
      feed_forward(layer, first, rows, scratch);
      if (layer + 1 < model_.dims.encoder_layers) {
        project(layer + 1, first, rows, scratch);
      } else {
        write_cross(first, rows, scratch, cross, out);
      }
    });
  }
}

// A frame and its neighbours are one row of 3 * channels values, rows one frame (conv1) or two (conv2) apart.
void Encoder::convolve(const float* mel) {
  const int bins = model_.dims.mel_bins;
  std::memcpy(mel_ + bins, mel, sizeof(float) * kMelFrames * bins);
  const Type type = model_.conv2.type;
  for_blocks(kMelFrames, [&](int first, int rows, const Scratch& scratch) {
    const View c = {scratch.hidden.data(), width_};
    product(model_.conv1, {mel_ + first * bins, bins * 4, nullptr}, rows, Epilogue::gelu, c);
    Rows to = conv1_.rows(type, {}, 1 + first, rows, width_);
    to.x = c.x;
    to.x_stride = c.stride;
    kernels_.operand[int(type)](to, Range::gelu);
  });
  for_blocks(kAudioContext, [&](int first, int rows, const Scratch& scratch) {
    const Rows from = conv1_.rows(type, {}, 2 * first, 0, width_);
    Product conv2 = product_of(model_.conv2, {from.out, 2 * from.out_stride, from.scale}, rows, Epilogue::gelu,
                               {x_ + first * width_, width_}, kernels_.panel);
    conv2.a_scale_stride = 2 * scales_of(width_);
    kernels_.product[int(type)](conv2);
    for (int64_t i = int64_t(first) * width_; i < int64_t(first + rows) * width_; i++)
      x_.data()[i] += model_.encoder_positions[i];
    project(0, first, rows, scratch);
  });
}

// Queries, keys and values of a layer.
void Encoder::project(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const Type type = block.qkv.type;
  const View qkv = {scratch.hidden.data(), 3 * width_ + 16};
  norm(block.attn_ln, type, {x_ + first * width_, width_}, rows, scratch.normed);
  product(block.qkv, scratch.normed.operand(type, width_), rows, Epilogue::store, qkv);
  for (int r = 0; r < rows; r++) std::memcpy(q_ + (first + r) * width_, qkv.row(r), sizeof(float) * width_);
  kv_.write(kernels_, layer % 2, {qkv.x + width_, qkv.stride}, first, rows);
}

// x += attention of these rows over all.
void Encoder::attend(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const auto attention = kernels_.attention[int(kv_.key_type)][int(kv_.value_type)];
  const View attended = {scratch.hidden.data(), width_ + 16};
  for (int head = 0; head < model_.dims.heads; head++) {
    attention({q_ + first * width_ + head * kHead, width_, rows, kv_.keys(layer % 2, head), kv_.values(layer % 2, head),
               kAudioContext, attended.x + head * kHead, attended.stride});
  }
  const Operand a = operand(block.out.type, attended, rows, width_, Range::symmetric, scratch.normed);
  product(block.out, a, rows, Epilogue::add, {x_ + first * width_, width_});
}

void Encoder::feed_forward(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const View x = {x_ + first * width_, width_}, hidden = {scratch.hidden.data(), 4 * width_ + 16};
  norm(block.mlp_ln, block.fc1.type, x, rows, scratch.normed);
  product(block.fc1, scratch.normed.operand(block.fc1.type, width_), rows, Epilogue::gelu, hidden);
  const Operand a = operand(block.fc2.type, hidden, rows, 4 * width_, Range::gelu, scratch.hidden_operand);
  product(block.fc2, a, rows, Epilogue::add, x);
}

void Encoder::write_cross(int first, int rows, const Scratch& scratch, const HeadKv& cross, float* out) const {
  Rows last = scratch.normed.rows(Type::f32, {x_ + first * width_, width_}, 0, rows, width_);
  last.out = out + first * width_;
  last.out_stride = width_ * 4;
  kernels_.norm[int(Type::f32)](last, model_.encoder_ln.weight, model_.encoder_ln.bias);
  const Type type = model_.types.encoder;
  const Operand a = operand(type, {out + first * width_, width_}, rows, width_, Range::symmetric, scratch.normed);
  const View kv = {scratch.hidden.data(), 2 * width_ + 16};
  for (int layer = 0; layer < model_.dims.decoder_layers; layer++) {
    product(model_.decoder[layer].cross_kv, a, rows, Epilogue::store, kv);
    cross.write(kernels_, layer, kv, first, rows);
  }
}

}  // namespace sotto::cpu
