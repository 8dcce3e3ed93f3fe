#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/decode.h"
#include "kernels/reference/decoder.h"
#include "kernels/reference/encoder.h"
#include "models/error.h"

namespace sotto::reference {
namespace {

constexpr int kScanTokens = 4096;   // a part of the vocabulary that one piece of work scans
constexpr int kMinLogitRows = 32;   // rows projected to logits at once, so that a long sequence reads the matrix seldom

struct Slot {
  SlotMemory memory;
  SlotRows rows;
  std::shared_ptr<const TokenSet> suppress;  // what rows.rules.suppress points into
  std::vector<float> prompt_end;             // [width]: hidden state of the prompt's last position
  int n_prompt = 0;
  bool encoded = false;
  bool begun = false;    // rows can be read
  bool stepping = false; // and go on
};

// One row of one slot in a step.
struct StepRow {
  int slot, row;
  int logits;  // row of the logits; samples of a fresh prompt share one
};

class ReferenceNetwork : public Network {
 public:
  ReferenceNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

  const Dims& dims() const override { return model_.dims; }
  const std::string& description() const override { return description_; }
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

 private:
  const Slot& at(int slot) const {
    CHECK_INVARIANT(slot >= 0 && slot < n_slots());
    return slots_[slot];
  }
  Slot& at(int slot) { return const_cast<Slot&>(std::as_const(*this).at(slot)); }

  void start(Slot& slot, const std::vector<int>& prompt, const Settings& settings);
  void feed_prompts(std::span<const int> slots, std::span<const std::vector<int>> prompts, std::vector<float>& at_sot);
  Beginning beginning(const float* logits) const;
  std::vector<StepRow> step_logits();
  void scan_rows(const std::vector<StepRow>& rows, std::vector<Choices>& choices);
  Progress update(int slot, const Choices* choices);
  template <class Use>
  void feed_sequence(int slot, std::span<const int> tokens, AlignmentScores* alignment, const Use& use);

  Team team_;
  Model model_;
  int max_rows_, max_logits_;
  Encoder encoder_;
  Decoder decoder_;
  std::vector<Slot> slots_;
  Floats hidden_;  // [max_logits][width]
  Floats logits_;  // [max_logits][vocabulary]
  std::vector<Scan> scans_;
  std::string description_;
};

ReferenceNetwork::ReferenceNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options)
    : team_(options.threads),
      model_(read_model(std::move(weights), team_)),
      max_rows_(options.max_rows),
      max_logits_(std::max(options.slots * options.max_rows, kMinLogitRows)),
      encoder_(model_, team_),
      decoder_(model_, team_, options.max_rows, std::max(options.slots * options.max_rows, kTextContext)),
      slots_(options.slots),
      hidden_(int64_t{max_logits_} * model_.dims.width),
      logits_(int64_t{max_logits_} * model_.dims.vocabulary) {
  for (Slot& slot : slots_) {
    slot.memory = {Floats(int64_t{kAudioContext} * model_.dims.width), encoder_.new_cross_memory(),
                   decoder_.new_self_memory()};
    slot.prompt_end.resize(model_.dims.width);
  }
  description_ = std::string("CPU, plain loops (f32, ") + loops().isa + "), " + std::to_string(team_.threads()) +
                 (team_.threads() == 1 ? " thread" : " threads");
}

void ReferenceNetwork::encode(std::span<const float* const> mels, std::span<const int> slots) {
  CHECK_INVARIANT(mels.size() == slots.size());
  for (size_t i = 0; i < mels.size(); i++) {
    Slot& slot = at(slots[i]);
    encoder_.run(mels[i], slot.memory.encoded.data());
    encoder_.fill_cross_memory(slot.memory.encoded.data(), slot.memory.cross);
    slot.encoded = true;
    slot.begun = slot.stepping = false;
  }
}

void ReferenceNetwork::start(Slot& slot, const std::vector<int>& prompt, const Settings& settings) {
  const int n_prompt = static_cast<int>(prompt.size());
  CHECK_INVARIANT(slot.encoded && n_prompt >= 1 && n_prompt <= kTextContext);
  CHECK_INVARIANT(settings.rows >= 1 && settings.rows <= max_rows_);
  CHECK_INVARIANT(!settings.suppress || settings.suppress->size() * 32 >= static_cast<size_t>(model_.dims.vocabulary));
  const SpecialTokens special = special_tokens(model_.dims.vocabulary);
  SlotRows& rows = slot.rows;
  slot.suppress = settings.suppress;
  rows.rules = {model_.dims.vocabulary, special.eot, special.no_timestamps, special.first_timestamp,
                settings.max_initial_timestamp, settings.timestamps, settings.suppress_blank,
                settings.suppress ? settings.suppress->data() : nullptr};
  rows.temperature = settings.temperature;
  rows.sample_key = settings.sample_key;
  rows.n_rows = settings.rows;
  rows.max_finished = finished_wanted(settings.rows, settings.patience);
  if (rows.max_finished < 1 || rows.max_finished > kMaxFinished) {
    throw Error("beam size x patience is " + std::to_string(rows.max_finished) + ", but must be from 1 to " +
                std::to_string(kMaxFinished) + ": use another patience");
  }
  // A sequence may grow to one token more than the context, since the last is never fed.
  rows.token_limit = std::min(settings.token_limit, kTextContext + 1 - n_prompt);
  start_rows(rows);
  std::fill_n(slot.memory.self.where.data(), kTextContext, uint8_t{0});
  slot.n_prompt = n_prompt;
  slot.begun = true;
  slot.stepping = !rows.done;
}

// Runs the prompts' tokens through the decoder, as many at once as it takes, and keeps the hidden states of each last
// position and of each start-of-transcript (appended to at_sot).
void ReferenceNetwork::feed_prompts(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                    std::vector<float>& at_sot) {
  const int64_t width = model_.dims.width;
  const int sot = special_tokens(model_.dims.vocabulary).sot;
  std::vector<DecoderRow> rows;
  std::vector<std::pair<size_t, bool>> from;  // index into slots; whether the row is its first start-of-transcript
  const auto flush = [&] {
    const float* hidden = decoder_.forward(rows);
    for (size_t i = 0; i < rows.size(); i++, hidden += width) {
      if (from[i].second) at_sot.insert(at_sot.end(), hidden, hidden + width);
      Slot& slot = at(slots[from[i].first]);
      if (rows[i].position + 1 == slot.n_prompt) std::copy_n(hidden, width, slot.prompt_end.data());
    }
    rows.clear();
    from.clear();
  };
  for (size_t s = 0; s < slots.size(); s++) {
    const std::vector<int>& prompt = prompts[s];
    const auto first_sot = std::find(prompt.begin(), prompt.end(), sot) - prompt.begin();
    for (size_t i = 0; i < prompt.size(); i++) {
      CHECK_INVARIANT(prompt[i] >= 0 && prompt[i] < model_.dims.vocabulary);
      rows.push_back({&at(slots[s]).memory, 0, static_cast<int>(i), prompt[i]});
      from.push_back({s, static_cast<ptrdiff_t>(i) == first_sot});
      if (static_cast<int>(rows.size()) == decoder_.capacity()) flush();
    }
  }
  if (!rows.empty()) flush();
}

Beginning ReferenceNetwork::beginning(const float* logits) const {
  const SpecialTokens special = special_tokens(model_.dims.vocabulary);
  const auto log_sum = [&](const float* from, int n) {
    const float max = *std::max_element(from, from + n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += std::exp(from[i] - max);
    return max + std::log(sum);
  };
  Beginning result;
  const double total = log_sum(logits, model_.dims.vocabulary);
  result.no_speech_prob = static_cast<float>(std::exp(logits[special.no_speech] - total));
  if (model_.dims.multilingual()) {
    const float* of_languages = logits + special.first_language;
    const double sum = log_sum(of_languages, special.n_languages);
    for (int i = 0; i < special.n_languages; i++) {
      result.language_log_probs.push_back(static_cast<float>(of_languages[i] - sum));
    }
  }
  return result;
}

std::vector<Beginning> ReferenceNetwork::begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                               std::span<const Settings> settings) {
  CHECK_INVARIANT(slots.size() == prompts.size() && slots.size() == settings.size());
  for (size_t i = 0; i < slots.size(); i++) start(at(slots[i]), prompts[i], settings[i]);
  std::vector<float> at_sot;
  feed_prompts(slots, prompts, at_sot);

  std::vector<Beginning> result(slots.size());
  const int64_t width = model_.dims.width;
  const int n_sot = static_cast<int>(at_sot.size() / width);
  CHECK_INVARIANT(n_sot <= max_logits_);
  decoder_.project(at_sot.data(), n_sot, logits_.data());
  const int sot = special_tokens(model_.dims.vocabulary).sot;
  for (size_t i = 0, row = 0; i < slots.size(); i++) {
    if (std::find(prompts[i].begin(), prompts[i].end(), sot) == prompts[i].end()) continue;
    result[i] = beginning(logits_.data() + row++ * model_.dims.vocabulary);
  }
  return result;
}

// The logits of all rows of all slots that go on, and which row of them is whose.
std::vector<StepRow> ReferenceNetwork::step_logits() {
  const int64_t width = model_.dims.width;
  std::vector<StepRow> result;
  std::vector<DecoderRow> fed;
  std::vector<int> fed_to;  // row of hidden_
  int n = 0;
  for (int s = 0; s < n_slots(); s++) {
    Slot& slot = slots_[s];
    if (!slot.stepping) continue;
    const SlotRows& rows = slot.rows;
    if (rows.n_sampled == 0) {
      std::copy_n(slot.prompt_end.data(), width, hidden_.data() + n * width);
      for (int i = 0; i < rows.n_live; i++) result.push_back({s, i, n});
      n++;
      continue;
    }
    for (int i = 0; i < rows.n_live; i++) {
      fed.push_back({&slot.memory, i, slot.n_prompt + rows.n_sampled - 1, rows.token[rows.n_sampled - 1][i]});
      fed_to.push_back(n);
      result.push_back({s, i, n++});
    }
  }
  const float* hidden = fed.empty() ? nullptr : decoder_.forward(fed);
  for (size_t i = 0; i < fed.size(); i++) std::copy_n(hidden + i * width, width, hidden_.data() + fed_to[i] * width);
  if (n > 0) decoder_.project(hidden_.data(), n, logits_.data());
  return result;
}

void ReferenceNetwork::scan_rows(const std::vector<StepRow>& rows, std::vector<Choices>& choices) {
  const int vocabulary = model_.dims.vocabulary, parts = (vocabulary + kScanTokens - 1) / kScanTokens;
  scans_.resize(rows.size() * parts);
  team_.parallel_for(static_cast<int64_t>(scans_.size()), 1, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const StepRow& row = rows[piece / parts];
      const SlotRows& slot = slots_[row.slot].rows;
      const int token = static_cast<int>(piece % parts) * kScanTokens;
      clear_scan(scans_[piece]);
      scan_part(slot.rules, allowed_next(slot.rules, slot.row[row.row]), ranking_of(slot, row.row),
                logits_.data() + int64_t{row.logits} * vocabulary, token, std::min(token + kScanTokens, vocabulary),
                choices_wanted(slot), scans_[piece]);
    }
  });
  choices.resize(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const SlotRows& slot = slots_[rows[i].slot].rows;
    Scan& all = scans_[i * parts];
    for (int part = 1; part < parts; part++) merge_scans(all, scans_[i * parts + part], choices_wanted(slot));
    choose(slot.rules, all, choices_wanted(slot), choices[i]);
  }
}

Progress ReferenceNetwork::update(int index, const Choices* choices) {
  Slot& slot = slots_[index];
  SlotRows& rows = slot.rows;
  const int n_before = rows.n_sampled;
  std::vector<SampledRow> ended;
  for (int i = 0; choices_wanted(rows) == 1 && i < rows.n_live; i++) {
    if (choices[i].n == 0 || choices[i].choice[0].token != rows.rules.eot) continue;
    ended.push_back({rows.rules.eot, n_before == 0 ? 0 : i, choices[i].choice[0].log_prob});
  }
  update_rows(rows, choices);
  Progress progress = {index, rows.done, {}};
  if (rows.n_sampled > n_before) {
    for (int i = 0; i < rows.n_live; i++) {
      progress.rows.push_back({rows.token[n_before][i], rows.parent[n_before][i], rows.log_prob[i]});
    }
    SelfMemory& self = slot.memory.self;
    std::swap(self.where, self.where_before);
    follow_parents(rows, self.where_before.data(), self.where.data(), slot.n_prompt + n_before);
  }
  progress.rows.insert(progress.rows.end(), ended.begin(), ended.end());
  slot.stepping = !rows.done;
  return progress;
}

std::vector<Progress> ReferenceNetwork::step() {
  const std::vector<StepRow> rows = step_logits();
  std::vector<Choices> choices;
  scan_rows(rows, choices);
  std::vector<Progress> result;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i == 0 || rows[i].slot != rows[i - 1].slot) result.push_back(update(rows[i].slot, &choices[i]));
  }
  return result;
}

std::vector<Hypothesis> ReferenceNetwork::hypotheses(int index) const {
  const Slot& slot = at(index);
  CHECK_INVARIANT(slot.begun);
  const SlotRows& rows = slot.rows;
  std::vector<Hypothesis> result;
  const auto add = [&](int n_tokens, int row, float sum_log_prob, bool finished) {
    result.push_back({std::vector<int>(n_tokens), sum_log_prob, finished});
    row_tokens(rows, n_tokens, row, result.back().tokens.data());
  };
  for (int i = 0; i < rows.n_finished; i++) {
    const FinishedRow& row = rows.finished[i];
    add(row.n_tokens, row.row, row.sum_log_prob, row.reached_eot);
  }
  std::vector<int> live(rows.n_live);
  for (int i = 0; i < rows.n_live; i++) live[i] = i;
  std::stable_sort(live.begin(), live.end(),
                   [&](int a, int b) { return rows.row[a].sum_log_prob > rows.row[b].sum_log_prob; });
  for (int row : live) {
    if (static_cast<int>(result.size()) >= rows.n_rows) break;
    add(rows.n_sampled, row, rows.row[row].sum_log_prob, false);
  }
  return result;
}

// Feeds one whole sequence to a slot and calls use(position, logits) for each position in order.
template <class Use>
void ReferenceNetwork::feed_sequence(int index, std::span<const int> tokens, AlignmentScores* alignment,
                                     const Use& use) {
  Slot& slot = at(index);
  const int n = static_cast<int>(tokens.size());
  CHECK_INVARIANT(slot.encoded && n >= 1 && n <= kTextContext);
  slot.begun = slot.stepping = false;
  std::fill_n(slot.memory.self.where.data(), kTextContext, uint8_t{0});
  std::vector<DecoderRow> rows;
  for (int i = 0; i < n; i++) {
    CHECK_INVARIANT(tokens[i] >= 0 && tokens[i] < model_.dims.vocabulary);
    rows.push_back({&slot.memory, 0, i, tokens[i]});
  }
  const float* hidden = decoder_.forward(rows, alignment);
  for (int first = 0; first < n; first += max_logits_) {
    const int count = std::min(max_logits_, n - first);
    decoder_.project(hidden + int64_t{first} * model_.dims.width, count, logits_.data());
    for (int i = 0; i < count; i++) use(first + i, logits_.data() + int64_t{i} * model_.dims.vocabulary);
  }
}

Alignment ReferenceNetwork::align(int slot, std::span<const int> tokens, int n_frames) {
  CHECK_INVARIANT(n_frames >= 0 && n_frames <= kAudioContext);
  const int n_heads = static_cast<int>(model_.weights->alignment_heads.size()), n = static_cast<int>(tokens.size());
  AlignmentScores scores = {n, n_frames, std::vector<float>(int64_t{n_heads} * n * n_frames)};
  std::vector<float> probs(n);
  const int eot = special_tokens(model_.dims.vocabulary).eot;
  feed_sequence(slot, tokens, &scores, [&](int position, const float* logits) {
    if (position + 1 == n || tokens[position + 1] >= eot) return;
    const float max = *std::max_element(logits, logits + eot);
    double sum = 0;
    for (int i = 0; i < eot; i++) sum += std::exp(logits[i] - max);
    probs[position + 1] = static_cast<float>(std::exp(logits[tokens[position + 1]] - max) / sum);
  });
  return {n_heads, n, n_frames, std::move(scores.qk), std::move(probs)};
}

std::vector<float> ReferenceNetwork::encoder_output(int slot) const {
  CHECK_INVARIANT(at(slot).encoded);
  const float* from = at(slot).memory.encoded.data();
  return {from, from + int64_t{kAudioContext} * model_.dims.width};
}

std::vector<float> ReferenceNetwork::logits(int slot, std::span<const int> tokens) {
  std::vector<float> result;
  result.reserve(tokens.size() * model_.dims.vocabulary);
  feed_sequence(slot, tokens, nullptr, [&](int, const float* logits) {
    result.insert(result.end(), logits, logits + model_.dims.vocabulary);
  });
  return result;
}

}  // namespace

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  return std::make_unique<ReferenceNetwork>(std::move(weights), options);
}

}  // namespace sotto::reference
