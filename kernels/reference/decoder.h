// The decoder: rows of tokens in, what stands before the output projection out. A row is one position of one sequence;
// a prompt is many rows of one sequence, a step is one row of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/decode.h"
#include "kernels/reference/encoder.h"
#include "kernels/reference/model.h"
#include "kernels/team.h"

namespace sotto::reference {

// The keys and values of what a slot's rows have seen.
struct SelfMemory {
  Floats keys, values;  // [layer][max_rows][448][width]
  // Which row's memory holds a row's past, and the same before the last step. [max_rows][448]
  std::vector<uint8_t> where, where_before;
};

struct SlotMemory {
  Floats encoded;  // [1500][width]
  CrossMemory cross;
  SelfMemory self;
};

struct DecoderRow {
  SlotMemory* slot;
  int row;       // where its key and value go, and whose past it has
  int position;
  int token;
};

// Wanted of the alignment heads: scores before the softmax, [n_heads][n_tokens][n_frames].
struct AlignmentScores {
  int n_tokens, n_frames;
  std::vector<float> qk;
};

class Decoder {
 public:
  // capacity: rows that one forward() can take.
  Decoder(const Model& model, Team& team, int max_rows, int capacity);

  int capacity() const { return capacity_; }
  SelfMemory new_self_memory() const;

  // All layers over some rows; those of one slot stand together, and positions of one sequence in order. Their keys and
  // values are kept. Returns [rows][width], after the last norm; valid until the next call. With `alignment`, the rows
  // are one sequence from position 0 on or a later part of it.
  const float* forward(std::span<const DecoderRow> rows, AlignmentScores* alignment = nullptr);

  // logits: [m][vocabulary] of hidden [m][width].
  void project(const float* hidden, int m, float* logits);

 private:
  void self_attention(size_t layer, std::span<const DecoderRow> rows);
  void cross_attention(size_t layer, std::span<const DecoderRow> rows, AlignmentScores* alignment);

  const Model& model_;
  Team& team_;
  int max_rows_, capacity_;
  Floats x_, y_, q_;  // [capacity][width]
  Floats qkv_;        // [capacity][3 width]
  Floats hidden_;     // [capacity][4 width]
  Floats scratch_;    // [threads] of scores
};

}  // namespace sotto::reference
