#include "kernels/cpu/encoder.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sotto::cpu {
namespace {

constexpr int kHiddenPart = 512;  // columns of a feed-forward layer's middle that a block of rows has at once
constexpr int kGap = 16;           // floats between rows, which else were a power of 2 apart
constexpr int kLeastRows = 48;    // a multiple of the row tile and of any vector

// Runs work and adds its time to a part's: some hundred times in a window, below 0.1 % of it.
template <class Work>
void timed(PartSeconds& seconds, EncoderPart part, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds[size_t(part)] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Where blocks of rows start: large ones first, since each reads all weights, and small ones at the end, so that no
// thread waits long for another.
std::vector<int> block_starts(int rows, int threads) {
  std::vector<int> starts = {0};
  while (starts.back() < rows) {
    const int left = rows - starts.back();
    const int fair = threads == 1 ? left : left / (2 * threads) / kLeastRows * kLeastRows;
    starts.push_back(std::min(rows, starts.back() + std::clamp(fair, kLeastRows, kAttentionRows)));
  }
  return starts;
}

}  // namespace

HeadKv::HeadKv(int layers, int heads, Type type)
    : type(type),
      heads_(heads),
      key_bytes_(keys_bytes(type, kAudioContext)),
      value_bytes_(values_bytes(type, kAudioContext)),
      data_((key_bytes_ + value_bytes_) * heads * layers) {}

void HeadKv::write(const Kernels& kernels, int layer, View kv, int first, int rows) const {
  for (int head = 0; head < heads_; head++) {
    PackHead part = {kv.x + head * kHead, kv.stride, first, rows, padded_keys(kAudioContext), keys(layer, head)};
    kernels.pack_keys[int(type)](part);
    part.x += heads_ * kHead;
    part.out = values(layer, head);
    kernels.pack_values[int(type)](part);
  }
}

Encoder::Encoder(const PackedModel& model, const Kernels& kernels, Team& team)
    : model_(model),
      kernels_(kernels),
      team_(team),
      width_(model.dims.width),
      mel_((kMelFrames + 2) * model.dims.mel_bins),
      conv1_(kMelFrames + 2, width_, 0),
      x_(kAudioContext * (width_ + kGap)),
      q_(kAudioContext * (width_ + kGap)),
      position_blocks_(block_starts(kAudioContext, team.threads())),
      frame_blocks_(block_starts(kMelFrames, team.threads())),
      kv_(2, model.dims.heads, model.types.encoder_kv) {
  std::vector<float> zeros(width_);
  for (const int row : {0, kMelFrames + 1}) {
    Rows around = conv1_.rows(model.conv2.type, {}, row, 1, width_);
    around.x = zeros.data();
    kernels.operand[int(model.conv2.type)](around, Range::gelu);
  }
  for (int i = 0; i < team.threads(); i++) {
    scratch_.push_back({OperandBuffer(kAttentionRows, width_), OperandBuffer(kAttentionRows, kHiddenPart),
                        Buffer<float>(kAttentionRows * (std::max(2 * width_, kHiddenPart) + kGap))});
  }
}

// Calls work(first, rows, scratch) for blocks of rows on all threads.
template <class Work>
void Encoder::for_blocks(const std::vector<int>& starts, const Work& work) {
  team_.parallel_for(std::ssize(starts) - 1, 1, [&](int64_t from, int64_t to, int thread) {
    for (int64_t i = from; i < to; i++) work(starts[i], starts[i + 1] - starts[i], scratch_[thread]);
  });
}

View Encoder::row_of(const Buffer<float>& rows, int first) const {
  return {rows + first * int64_t(width_ + kGap), width_ + kGap};
}

void Encoder::product(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c) const {
  product(linear, a, rows, epilogue, c, 0, linear.n);
}

// Columns [first, last) alone, into those of c.
void Encoder::product(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c, int first,
                      int last) const {
  Product product = product_of(linear, a, rows, epilogue, c, kernels_.panel);
  product.first_panel = first / kernels_.panel;
  product.last_panel = (last + kernels_.panel - 1) / kernels_.panel;
  kernels_.product[int(linear.type)](product);
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

PartSeconds Encoder::part_seconds() const {
  PartSeconds sums = {};
  for (const Scratch& scratch : scratch_)
    for (size_t i = 0; i < sums.size(); i++) sums[i] += scratch.seconds[i];
  return sums;
}

void Encoder::run(const float* mel, const HeadKv& cross, float* out) {
  for (Scratch& scratch : scratch_) scratch.seconds = {};
  convolve(mel);
  for (int layer = 0; layer < model_.dims.encoder_layers; layer++) {
    for_blocks(position_blocks_, [&](int first, int rows, const Scratch& scratch) {
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
  for_blocks(frame_blocks_, [&](int first, int rows, const Scratch& scratch) {
    const View c = {scratch.hidden.data(), width_};
    timed(scratch.seconds, EncoderPart::convolutions, [&] {
      product(model_.conv1, {mel_ + first * bins, bins * 4, nullptr}, rows, Epilogue::gelu, c);
    });
    Rows to = conv1_.rows(type, {}, 1 + first, rows, width_);
    to.x = c.x;
    to.x_stride = c.stride;
    timed(scratch.seconds, EncoderPart::operands, [&] { kernels_.operand[int(type)](to, Range::gelu); });
  });
  for_blocks(position_blocks_, [&](int first, int rows, const Scratch& scratch) {
    const Rows from = conv1_.rows(type, {}, 2 * first, 0, width_);
    Product conv2 = product_of(model_.conv2, {from.out, 2 * from.out_stride, from.scale}, rows, Epilogue::gelu,
                               row_of(x_, first), kernels_.panel);
    conv2.a_scale_stride = 2 * scales_of(width_);
    timed(scratch.seconds, EncoderPart::convolutions, [&] {
      kernels_.product[int(type)](conv2);
      for (int r = first; r < first + rows; r++) {
        const float* position = model_.encoder_positions + int64_t(r) * width_;
        for (int i = 0; i < width_; i++) row_of(x_, r).x[i] += position[i];
      }
    });
    project(0, first, rows, scratch);
  });
}

// Queries, keys and values of a layer.
void Encoder::project(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const Type type = block.qkv.type;
  timed(scratch.seconds, EncoderPart::operands,
        [&] { norm(block.attn_ln, type, row_of(x_, first), rows, scratch.normed); });
  const Operand a = scratch.normed.operand(type, width_);
  const View kv = {scratch.hidden.data(), 2 * width_ + kGap};
  timed(scratch.seconds, EncoderPart::qkv, [&] {
    product(block.qkv, a, rows, Epilogue::store, row_of(q_, first), 0, width_);
    product(block.qkv, a, rows, Epilogue::store, {kv.x - width_, kv.stride}, width_, 3 * width_);
  });
  timed(scratch.seconds, EncoderPart::packing, [&] { kv_.write(kernels_, layer % 2, kv, first, rows); });
}

// x += attention of these rows over all.
void Encoder::attend(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const View attended = {scratch.hidden.data(), width_ + kGap};
  for (int head = 0; head < model_.dims.heads; head++) {
    HeadAttention one = {row_of(q_, first).x + head * kHead, width_ + kGap, rows, kv_.keys(layer % 2, head),
                         kv_.values(layer % 2, head), kAudioContext, attended.x + head * kHead, attended.stride};
    const bool last = head + 1 == model_.dims.heads;
    one.next_k = last ? block.out.b : kv_.keys(layer % 2, head + 1);
    one.next_v = last ? block.out.b : kv_.values(layer % 2, head + 1);
    timed(scratch.seconds, EncoderPart::attention, [&] { kernels_.attention[int(kv_.type)](one); });
  }
  Operand a;
  timed(scratch.seconds, EncoderPart::operands,
        [&] { a = operand(block.out.type, attended, rows, width_, Range::symmetric, scratch.normed); });
  timed(scratch.seconds, EncoderPart::output, [&] { product(block.out, a, rows, Epilogue::add, row_of(x_, first)); });
}

// The middle of the layer is never there as a whole: a part of it is computed and used up in the second cache.
void Encoder::feed_forward(int layer, int first, int rows, const Scratch& scratch) const {
  const PackedEncoderBlock& block = model_.encoder[layer];
  const View x = row_of(x_, first), hidden = {scratch.hidden.data(), kHiddenPart + kGap};
  const Type type = block.fc2.type;
  timed(scratch.seconds, EncoderPart::operands,
        [&] { norm(block.mlp_ln, block.fc1.type, x, rows, scratch.normed); });
  for (int part = 0; part < 4 * width_; part += kHiddenPart) {
    timed(scratch.seconds, EncoderPart::fc1, [&] {
      product(block.fc1, scratch.normed.operand(block.fc1.type, width_), rows, Epilogue::gelu,
              {hidden.x - part, hidden.stride}, part, part + kHiddenPart);
    });
    Operand a;
    timed(scratch.seconds, EncoderPart::operands,
          [&] { a = operand(type, hidden, rows, kHiddenPart, Range::gelu, scratch.hidden_operand); });
    Product fc2 = product_of(block.fc2, a, rows, Epilogue::add, x, kernels_.panel);
    fc2.a_scale_stride = scales_of(kHiddenPart);
    fc2.groups = kHiddenPart / values_per_group(type);
    fc2.b = block.fc2.b + int64_t(part / values_per_group(type)) * kernels_.panel * group_bytes(type);
    if (type == Type::i8) {
      fc2.b_scale += part / kScaled * fc2.b_stride;
      fc2.b_start += part / kScaled * fc2.b_stride;
    }
    if (part > 0) fc2.bias = nullptr;
    timed(scratch.seconds, EncoderPart::fc2, [&] { kernels_.product[int(type)](fc2); });
  }
}

void Encoder::write_cross(int first, int rows, const Scratch& scratch, const HeadKv& cross, float* out) const {
  Rows last = scratch.normed.rows(Type::f32, row_of(x_, first), 0, rows, width_);
  last.out = out + first * width_;
  last.out_stride = width_ * 4;
  const Type type = model_.types.encoder;
  Operand a;
  timed(scratch.seconds, EncoderPart::operands, [&] {
    kernels_.norm[int(Type::f32)](last, model_.encoder_ln.weight, model_.encoder_ln.bias);
    a = operand(type, {out + first * width_, width_}, rows, width_, Range::symmetric, scratch.normed);
  });
  const View kv = {scratch.hidden.data(), 2 * width_ + kGap};
  for (int layer = 0; layer < model_.dims.decoder_layers; layer++) {
    timed(scratch.seconds, EncoderPart::cross_kv,
          [&] { product(model_.decoder[layer].cross_kv, a, rows, Epilogue::store, kv); });
    timed(scratch.seconds, EncoderPart::packing, [&] { cross.write(kernels_, layer, kv, first, rows); });
  }
}

}  // namespace sotto::cpu
