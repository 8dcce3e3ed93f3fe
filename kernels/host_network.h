// What the engines on the host have in common: slots and their rows from begin() to hypotheses(). An engine adds its
// own way from a mel to cross K/V, from tokens to hidden states and from those to logits or to candidates.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/decode.h"
#include "kernels/network.h"
#include "kernels/team.h"

namespace sotto {

// One position of one sequence. Rows of one slot stand together, and positions of one sequence in order.
struct DecoderRow {
  int slot;
  int row;               // where its key and value go, and whose past it has
  int position;
  int token;
  const uint8_t* where;  // [position + 1]: the row whose memory holds each position of its past
};

// Wanted of the alignment heads: scores before the softmax, [n_heads][n_tokens][n_frames].
struct AlignmentScores {
  int n_tokens, n_frames;
  std::vector<float> qk;
};

// What rows of a forward() are: the last tokens of some rows, or stretches of sequences.
enum class Pass : uint8_t { step, sequences };

// Which encoder position rows of a forward() look at most: of the softmaxes of the alignment heads' scores, summed.
class AttentionWatch {
 public:
  void start(int n_rows) {
    place_.assign(n_rows, -1);
    weights_.clear();
  }
  void want(int row) {
    place_[row] = static_cast<int>(weights_.size());
    weights_.resize(weights_.size() + kAudioContext);
  }
  bool wants_any() const { return !weights_.empty(); }
  bool wants(int row) const { return place_[row] >= 0; }
  void add(int row, const float* qk);  // [1500] scores of one head, before the softmax
  int most_attended(int row) const;    // -1 where it isn't wanted

 private:
  std::vector<int> place_;  // of each row's weights
  std::vector<float> weights_;
};

// One live row of a slot in a step.
struct StepRow {
  int slot, row;
  int hidden;  // row of the hidden states; samples of a fresh prompt share one
};

// What begin() makes of a slot's settings. suppress: where the engine keeps the set, or null.
void start_slot(SlotRows& rows, const Dims& dims, const Settings& settings, int n_prompt, const uint32_t* suppress);
// Finished rows, then the best unfinished ones until there are as many as were wanted.
std::vector<Hypothesis> hypotheses_of(const SlotRows& rows);

class HostNetwork : public Network {
 public:
  const Dims& dims() const override { return weights_->dims; }
  int n_slots() const override { return static_cast<int>(slots_.size()); }
  int max_rows() const override { return max_rows_; }

  void encode(std::span<const float* const> mels, std::span<const int> slots) override;
  std::vector<Beginning> begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                               std::span<const Settings> settings) override;
  std::vector<Progress> step() override;
  void stop(int slot) override { at(slot).stepping = false; }
  std::vector<Hypothesis> hypotheses(int slot) const override;
  Alignment align(int slot, std::span<const int> tokens, int n_frames) override;
  std::vector<float> encoder_output(int slot) const override;
  std::vector<float> logits(int slot, std::span<const int> tokens) override;

 protected:
  HostNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

  // Rows that one forward() must be able to take, and rows that one project() must.
  int forward_capacity() const;
  int project_capacity() const;
  const SlotRows& slot_rows(int slot) const { return slots_[slot].rows; }

  // mel: [3000][mel_bins]. Fills the slot's cross K/V, and encoded [1500][width].
  virtual void encode_window(int slot, const float* mel, float* encoded) = 0;
  // All layers over some rows, whose keys and values are kept. Returns [rows][width], after the last norm; valid until
  // the next call. With `alignment`, the rows are one sequence from position 0 on. The scores of what `watch` wants are
  // added to it; null: nothing.
  virtual const float* forward(Pass pass, std::span<const DecoderRow> rows, AlignmentScores* alignment,
                               AttentionWatch* watch) = 0;
  // logits: [m][vocabulary] of hidden [m][width].
  virtual void project(const float* hidden, int m, float* logits) = 0;
  // probs[i]: how likely targets[i] is by hidden row i [m][width], over the vocabulary below `limit`; 0 where the target is
  // not below it. Any m.
  virtual void token_probs(const float* hidden, int m, std::span<const int> targets, int limit, float* probs);
  // Candidates of rows, as choose() gives them, from hidden [m][width].
  virtual void choose_rows(const float* hidden, int m, std::span<const StepRow> rows, std::span<Choices> choices) = 0;

  Team team_;
  const std::shared_ptr<const Weights> weights_;

 private:
  struct Slot {
    SlotRows rows;
    std::shared_ptr<const TokenSet> suppress;  // what rows.rules.suppress points into
    std::vector<float> encoded;                // [1500][width]
    std::vector<float> prompt_end;             // [width]: hidden state of the prompt's last position
    // Which row's memory holds a row's past, and the same before the last step. [max_rows][448]
    std::vector<uint8_t> where, where_before;
    std::vector<int> most_attended;  // of each live row, when its hidden state was made
    int n_prompt = 0;
    bool watched = false;
    bool begun = false;     // rows can be read
    bool stepping = false;  // and go on
  };

  const Slot& at(int slot) const;
  Slot& at(int slot) { return const_cast<Slot&>(std::as_const(*this).at(slot)); }

  void start(Slot& slot, const std::vector<int>& prompt, const Settings& settings);
  void feed_prompts(std::span<const int> slots, std::span<const std::vector<int>> prompts, std::vector<float>& at_sot);
  void project_to_logits(const float* hidden, int m);
  Beginning beginning(const float* logits) const;
  std::vector<StepRow> feed_rows();
  Progress update(int slot, const Choices* choices);
  const float* feed_sequence(int slot, std::span<const int> tokens, AlignmentScores* alignment);

  const int max_rows_;
  std::vector<Slot> slots_;
  AttentionWatch watch_;
  std::vector<float> hidden_;  // [slots * max_rows][width]
  std::vector<float> logits_;  // [project_capacity][vocabulary], when first needed
};

}  // namespace sotto
