// The decoder: rows of tokens in, hidden states or candidates out. A step is one row of each beam of each window, a
// prompt many rows of one sequence: both are the rows of the same products, which read each weight once for all.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/cpu/encoder.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/packed_model.h"
#include "kernels/host_network.h"
#include "kernels/team.h"

namespace sotto::cpu {

// Keys and values of one slot's rows, in their type: [layer][head][max_rows][448][64] each.
class SelfKv {
 public:
  SelfKv(const Dims& dims, Type type, int max_rows);
  char* keys(int layer, int head) const { return keys_ + (int64_t(layer) * heads_ + head) * head_bytes_; }
  char* values(int layer, int head) const { return values_ + (int64_t(layer) * heads_ + head) * head_bytes_; }
  int64_t offset(int row, int position) const { return (int64_t(row) * kTextContext + position) * position_bytes_; }

  const Type type;

 private:
  int heads_;
  int64_t position_bytes_, head_bytes_;
  Buffer<char> keys_, values_;
};

struct SlotMemory {
  HeadKv cross;
  SelfKv self;
};

class Decoder {
 public:
  // capacity: rows of one forward(); step_rows: of one choose().
  Decoder(const PackedModel& model, const Kernels& kernels, Team& team, int capacity, int step_rows);

  // As HostNetwork::forward says. memory: of each slot.
  const float* forward(Pass pass, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory,
                       AlignmentScores* alignment, AttentionWatch* watch);
  // As HostNetwork::project, token_probs and choose_rows say.
  void project(const float* hidden, int m, float* logits);
  void token_probs(const float* hidden, int m, std::span<const int> targets, int limit, float* probs);
  void choose(const float* hidden, int m, std::span<const StepRow> rows,
              const std::function<const SlotRows&(int slot)>& slot_rows, std::span<Choices> choices);

 private:
  void prepare(Type type, const PackedNorm* norm, View x, int m, int width, Range range, bool exactly);
  void linear(const PackedLinear& linear, const PackedNorm* norm, View x, int m, Epilogue epilogue, View c,
              Range range = Range::symmetric);
  void group(std::span<const DecoderRow> rows);
  void self_attention(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory);
  void cross_attention(int layer, std::span<const SlotMemory> memory);
  View scores_of_head(int layer, int head, const HeadKv& cross, int first, int rows, int thread) const;
  void alignment_scores(int layer, std::span<const DecoderRow> rows, const HeadKv& cross, AlignmentScores& alignment);
  void watch_scores(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory, AttentionWatch& watch);
  void scan_tile(const SlotRows& slot, int row, float* logits, int first, int last, Scan& scan) const;
  int tile_panels() const;
  void product(const PackedLinear& linear, int first, int rows, Epilogue epilogue, View c, int first_panel,
               int last_panel) const;
  View logits_of_tile(int tile, int first, int rows, int thread) const;

  struct ThreadScratch {
    Buffer<float> logits;  // of a tile: [step_rows][tile]
    OperandBuffer q;       // of one head: [score rows][64]
    Buffer<float> scores;  // [score rows][padded keys]
  };
  struct Group {  // rows of one slot that stand together
    int slot, first, rows;
  };

  const PackedModel& model_;
  const Kernels& kernels_;
  Team& team_;
  const int width_;
  Buffer<float> x_, q_, attended_, out_;  // [capacity][width]
  Buffer<float> qkv_;                     // [capacity][3 width]
  Buffer<float> hidden_;                  // [capacity][4 width]
  Buffer<float> normed_;                  // [capacity][width]
  OperandBuffer operand_, operand_rest_;
  bool exactly_ = false;                  // operands keep what rounding takes from them: in steps
  Operand prepared_, rest_;  // rest_: what rounding took from prepared_, if anything was kept
  std::vector<Group> groups_;
  const int step_rows_;
  std::vector<ThreadScratch> scratch_;
  std::vector<Scan> scans_;               // [tiles][rows]
};

}  // namespace sotto::cpu
