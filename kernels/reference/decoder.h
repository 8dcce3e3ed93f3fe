// The decoder: rows of tokens in, what stands before the output projection out. A row is one position of one sequence;
// a prompt is many rows of one sequence, a step is one row of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/host_network.h"
#include "kernels/reference/encoder.h"
#include "kernels/reference/model.h"
#include "kernels/team.h"

namespace sotto::reference {

// The keys and values of what a slot's rows have seen.
struct SelfMemory {
  Floats keys, values;  // [layer][max_rows][448][width]
};

struct SlotMemory {
  CrossMemory cross;
  SelfMemory self;
};

class Decoder {
 public:
  // capacity: rows that one forward() can take.
  Decoder(const Model& model, Team& team, int max_rows, int capacity);

  SelfMemory new_self_memory() const;

  // As HostNetwork::forward says. memory: of each slot.
  const float* forward(std::span<const DecoderRow> rows, std::span<SlotMemory> memory, AlignmentScores* alignment,
                       AttentionWatch* watch);

  // logits: [m][vocabulary] of hidden [m][width].
  void project(const float* hidden, int m, float* logits);

 private:
  void self_attention(size_t layer, std::span<const DecoderRow> rows, std::span<SlotMemory> memory);
  void cross_attention(size_t layer, std::span<const DecoderRow> rows, std::span<SlotMemory> memory,
                       AlignmentScores* alignment, AttentionWatch* watch);

  const Model& model_;
  Team& team_;
  int max_rows_;
  Floats x_, y_, q_;  // [capacity][width]
  Floats qkv_;        // [capacity][3 width]
  Floats hidden_;     // [capacity][4 width]
  Floats scratch_;    // [threads] of scores
};

}  // namespace sotto::reference
