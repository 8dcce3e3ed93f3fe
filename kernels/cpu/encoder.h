// The encoder of one window, and the cross-attention K/V of all decoder layers.
//
// Rows (encoder positions) are independent but for attention, so a layer is one parallel phase: a thread takes a block
// of rows from the attention of layer l to the queries, keys and values of layer l + 1, all of it in its second cache,
// and only the keys and values of l are shared. Two sets of keys and values take turns.
#pragma once

#include <array>
#include <vector>

#include "kernels/cpu/operand.h"
#include "kernels/cpu/packed_model.h"
#include "kernels/team.h"

namespace sotto::cpu {

// Packed keys and values of one window: [layer][head] keys, then values.
class HeadKv {
 public:
  HeadKv(int layers, int heads, Type type);
  char* keys(int layer, int head) const { return data_ + (int64_t(layer) * heads_ + head) * (key_bytes_ + value_bytes_); }
  char* values(int layer, int head) const { return keys(layer, head) + key_bytes_; }
  // kv: rows [first, first + rows) of [keys of all heads, values of all heads].
  void write(const Kernels& kernels, int layer, View kv, int first, int rows) const;

  const Type type;

 private:
  int heads_;
  int64_t key_bytes_, value_bytes_;  // of one head
  Buffer<char> data_;
};

// What a window's time goes to. operands: LayerNorm, and rows rounded to what products want.
enum class EncoderPart : uint8_t { convolutions, qkv, attention, output, fc1, fc2, cross_kv, packing, operands };
constexpr int kEncoderParts = 9;
using PartSeconds = std::array<double, kEncoderParts>;

class Encoder {
 public:
  Encoder(const PackedModel& model, const Kernels& kernels, Team& team);

  // mel: [3000][mel_bins]. out: [1500][width].
  void run(const float* mel, const HeadKv& cross, float* out);

  // Of the last run, all threads together: what they wait for each other isn't in it.
  PartSeconds part_seconds() const;

 private:
  struct Scratch {  // of one thread, for one block of rows
    OperandBuffer normed, hidden_operand;
    Buffer<float> hidden;
    mutable PartSeconds seconds = {};
  };

  void convolve(const float* mel);
  void project(int layer, int first, int rows, const Scratch& scratch) const;
  void attend(int layer, int first, int rows, const Scratch& scratch) const;
  void feed_forward(int layer, int first, int rows, const Scratch& scratch) const;
  void write_cross(int first, int rows, const Scratch& scratch, const HeadKv& cross, float* out) const;
  void norm(const PackedNorm& norm, Type type, View x, int rows, const OperandBuffer& out) const;
  Operand operand(Type type, View x, int rows, int width, Range range, const OperandBuffer& out) const;
  View row_of(const Buffer<float>& rows, int first) const;
  void product(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c) const;
  void product(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c, int first,
               int last) const;
  template <class Work>
  void for_blocks(const std::vector<int>& starts, const Work& work);

  const PackedModel& model_;
  const Kernels& kernels_;
  Team& team_;
  const int width_;
  Buffer<float> mel_;      // [1 + 3000 + 1][mel_bins], zeros around
  OperandBuffer conv1_;    // [1 + 3000 + 1][width], zeros around
  Buffer<float> x_, q_;    // [1500][width and a gap]
  const std::vector<int> position_blocks_, frame_blocks_;  // where blocks of rows start
  HeadKv kv_;              // of two layers, in turns
  std::vector<Scratch> scratch_;
};

}  // namespace sotto::cpu
