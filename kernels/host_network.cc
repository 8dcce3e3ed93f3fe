#include "kernels/host_network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/error.h"

namespace sotto {
namespace {

constexpr int kMinLogitRows = 32;  // rows projected to logits at once, so that a long sequence reads the matrix seldom

}  // namespace

void AttentionWatch::add(int row, const float* qk) {
  float* weights = weights_.data() + place_[row];
  const float max = *std::max_element(qk, qk + kAudioContext);
  float sum = 0;
  for (int i = 0; i < kAudioContext; i++) sum += std::exp(qk[i] - max);
  for (int i = 0; i < kAudioContext; i++) weights[i] += std::exp(qk[i] - max) / sum;
}

int AttentionWatch::most_attended(int row) const {
  if (!wants(row)) return -1;
  const auto first = weights_.begin() + place_[row];
  return static_cast<int>(std::max_element(first, first + kAudioContext) - first);
}

void start_slot(SlotRows& rows, const Dims& dims, const Settings& settings, int n_prompt, const uint32_t* suppress) {
  const SpecialTokens special = special_tokens(dims.vocabulary);
  rows.rules = {dims.vocabulary, special.eot, special.no_timestamps, special.first_timestamp,
                settings.max_initial_timestamp, settings.timestamps, settings.suppress_blank, suppress};
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
}

std::vector<Hypothesis> hypotheses_of(const SlotRows& rows) {
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

HostNetwork::HostNetwork(std::shared_ptr<const Weights> weights, const NetworkOptions& options)
    : team_(options.threads),
      weights_(std::move(weights)),
      max_rows_(options.max_rows),
      slots_(options.slots),
      hidden_(int64_t{options.slots} * options.max_rows * weights_->dims.width) {
  for (Slot& slot : slots_) {
    slot.prompt_end.resize(weights_->dims.width);
    slot.where.resize(max_rows_ * kTextContext);
    slot.where_before.resize(max_rows_ * kTextContext);
    slot.most_attended.resize(max_rows_);
  }
}

const HostNetwork::Slot& HostNetwork::at(int slot) const {
  CHECK_INVARIANT(slot >= 0 && slot < n_slots());
  return slots_[slot];
}

int HostNetwork::forward_capacity() const { return std::max(n_slots() * max_rows_, kTextContext); }
int HostNetwork::project_capacity() const { return std::max(n_slots() * max_rows_, kMinLogitRows); }

void HostNetwork::encode(std::span<const float* const> mels, std::span<const int> slots) {
  CHECK_INVARIANT(mels.size() == slots.size());
  for (size_t i = 0; i < mels.size(); i++) {
    Slot& slot = at(slots[i]);
    slot.encoded.resize(int64_t{kAudioContext} * weights_->dims.width);
    encode_window(slots[i], mels[i], slot.encoded.data());
    slot.begun = slot.stepping = false;
  }
}

void HostNetwork::project_to_logits(const float* hidden, int m) {
  logits_.resize(int64_t{project_capacity()} * weights_->dims.vocabulary);
  project(hidden, m, logits_.data());
}

void HostNetwork::start(Slot& slot, const std::vector<int>& prompt, const Settings& settings) {
  const int n_prompt = static_cast<int>(prompt.size());
  CHECK_INVARIANT(!slot.encoded.empty() && n_prompt >= 1 && n_prompt <= kTextContext);
  CHECK_INVARIANT(settings.rows >= 1 && settings.rows <= max_rows_);
  CHECK_INVARIANT(!settings.suppress || settings.suppress->size() * 32 >= static_cast<size_t>(weights_->dims.vocabulary));
  slot.suppress = settings.suppress;
  start_slot(slot.rows, weights_->dims, settings, n_prompt, settings.suppress ? settings.suppress->data() : nullptr);
  std::fill_n(slot.where.data(), kTextContext, uint8_t{0});
  slot.n_prompt = n_prompt;
  slot.watched = settings.watch_attention;
  slot.begun = true;
  slot.stepping = !slot.rows.done;
}

// Runs the prompts' tokens through the decoder, as many at once as it takes, and keeps the hidden states of each last
// position and of each start-of-transcript (appended to at_sot).
void HostNetwork::feed_prompts(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                    std::vector<float>& at_sot) {
  const int64_t width = weights_->dims.width;
  const int sot = special_tokens(weights_->dims.vocabulary).sot;
  std::vector<DecoderRow> rows;
  std::vector<std::pair<size_t, bool>> from;  // index into slots; whether the row is its first start-of-transcript
  const auto flush = [&] {
    watch_.start(static_cast<int>(rows.size()));
    for (size_t i = 0; i < rows.size(); i++) {
      const Slot& slot = at(rows[i].slot);
      if (slot.watched && rows[i].position + 1 == slot.n_prompt) watch_.want(static_cast<int>(i));
    }
    const float* hidden = forward(Pass::sequences, rows, nullptr, &watch_);
    for (size_t i = 0; i < rows.size(); i++, hidden += width) {
      if (from[i].second) at_sot.insert(at_sot.end(), hidden, hidden + width);
      Slot& slot = at(slots[from[i].first]);
      if (rows[i].position + 1 != slot.n_prompt) continue;
      std::copy_n(hidden, width, slot.prompt_end.data());
      slot.most_attended.assign(max_rows_, watch_.most_attended(static_cast<int>(i)));
    }
    rows.clear();
    from.clear();
  };
  for (size_t s = 0; s < slots.size(); s++) {
    const std::vector<int>& prompt = prompts[s];
    const auto first_sot = std::find(prompt.begin(), prompt.end(), sot) - prompt.begin();
    for (size_t i = 0; i < prompt.size(); i++) {
      CHECK_INVARIANT(prompt[i] >= 0 && prompt[i] < weights_->dims.vocabulary);
      rows.push_back({slots[s], 0, static_cast<int>(i), prompt[i], at(slots[s]).where.data()});
      from.push_back({s, static_cast<ptrdiff_t>(i) == first_sot});
      if (static_cast<int>(rows.size()) == forward_capacity()) flush();
    }
  }
  if (!rows.empty()) flush();
}

Beginning HostNetwork::beginning(const float* logits) const {
  const SpecialTokens special = special_tokens(weights_->dims.vocabulary);
  const auto log_sum = [&](const float* from, int n) {
    const float max = *std::max_element(from, from + n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += std::exp(from[i] - max);
    return max + std::log(sum);
  };
  Beginning result;
  const double total = log_sum(logits, weights_->dims.vocabulary);
  result.no_speech_prob = static_cast<float>(std::exp(logits[special.no_speech] - total));
  if (weights_->dims.multilingual()) {
    const float* of_languages = logits + special.first_language;
    const double sum = log_sum(of_languages, special.n_languages);
    for (int i = 0; i < special.n_languages; i++) {
      result.language_log_probs.push_back(static_cast<float>(of_languages[i] - sum));
    }
  }
  return result;
}

std::vector<Beginning> HostNetwork::begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                               std::span<const Settings> settings) {
  CHECK_INVARIANT(slots.size() == prompts.size() && slots.size() == settings.size());
  for (size_t i = 0; i < slots.size(); i++) start(at(slots[i]), prompts[i], settings[i]);
  std::vector<float> at_sot;
  feed_prompts(slots, prompts, at_sot);

  std::vector<Beginning> result(slots.size());
  const int64_t width = weights_->dims.width;
  const int n_sot = static_cast<int>(at_sot.size() / width);
  CHECK_INVARIANT(n_sot <= project_capacity());
  project_to_logits(at_sot.data(), n_sot);
  const int sot = special_tokens(weights_->dims.vocabulary).sot;
  for (size_t i = 0, row = 0; i < slots.size(); i++) {
    if (std::find(prompts[i].begin(), prompts[i].end(), sot) == prompts[i].end()) continue;
    result[i] = beginning(logits_.data() + row++ * weights_->dims.vocabulary);
  }
  return result;
}

// Feeds the last tokens of all rows of all slots that go on. Their hidden states are in hidden_ then.
std::vector<StepRow> HostNetwork::feed_rows() {
  const int64_t width = weights_->dims.width;
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
      fed.push_back({s, i, slot.n_prompt + rows.n_sampled - 1, rows.token[rows.n_sampled - 1][i],
                     slot.where.data() + i * kTextContext});
      fed_to.push_back(n);
      result.push_back({s, i, n++});
    }
  }
  if (fed.empty()) return result;
  watch_.start(static_cast<int>(fed.size()));
  for (size_t i = 0; i < fed.size(); i++) {
    if (slots_[fed[i].slot].watched) watch_.want(static_cast<int>(i));
  }
  const float* hidden = forward(Pass::step, fed, nullptr, &watch_);
  for (size_t i = 0; i < fed.size(); i++) {
    std::copy_n(hidden + i * width, width, hidden_.data() + fed_to[i] * width);
    slots_[fed[i].slot].most_attended[fed[i].row] = watch_.most_attended(static_cast<int>(i));
  }
  return result;
}

Progress HostNetwork::update(int index, const Choices* choices) {
  Slot& slot = slots_[index];
  SlotRows& rows = slot.rows;
  const int n_before = rows.n_sampled;
  std::vector<SampledRow> ended;
  for (int i = 0; choices_wanted(rows) == 1 && i < rows.n_live; i++) {
    if (choices[i].n == 0 || choices[i].choice[0].token != rows.rules.eot) continue;
    ended.push_back({rows.rules.eot, n_before == 0 ? 0 : i, choices[i].choice[0].log_prob});
  }
  UpdateSpace space;
  update_rows(rows, choices, space);
  Progress progress = {index, rows.done, {}};
  int best_parent = rows.n_finished > 0 ? rows.finished[rows.n_finished - 1].row : 0;
  if (rows.n_sampled > n_before) {
    int best = 0;
    for (int i = 0; i < rows.n_live; i++) {
      progress.rows.push_back({rows.token[n_before][i], rows.parent[n_before][i], rows.log_prob[i]});
      if (rows.row[i].sum_log_prob > rows.row[best].sum_log_prob) best = i;
    }
    best_parent = rows.parent[n_before][best];
    std::swap(slot.where, slot.where_before);
    follow_parents(rows, slot.where_before.data(), slot.where.data(), slot.n_prompt + n_before);
  }
  if (slot.watched) progress.most_attended = slot.most_attended[best_parent];
  progress.rows.insert(progress.rows.end(), ended.begin(), ended.end());
  slot.stepping = !rows.done;
  return progress;
}

std::vector<Progress> HostNetwork::step() {
  const std::vector<StepRow> rows = feed_rows();
  std::vector<Progress> result;
  if (rows.empty()) return result;
  std::vector<Choices> choices(rows.size());
  choose_rows(hidden_.data(), rows.back().hidden + 1, rows, choices);
  for (size_t i = 0; i < rows.size(); i++) {
    if (i == 0 || rows[i].slot != rows[i - 1].slot) result.push_back(update(rows[i].slot, &choices[i]));
  }
  return result;
}

std::vector<Hypothesis> HostNetwork::hypotheses(int slot) const {
  CHECK_INVARIANT(at(slot).begun);
  return hypotheses_of(at(slot).rows);
}

// Feeds one whole sequence to a slot; returns the hidden states, valid until the next forward().
const float* HostNetwork::feed_sequence(int index, std::span<const int> tokens, AlignmentScores* alignment) {
  Slot& slot = at(index);
  const int n = static_cast<int>(tokens.size());
  CHECK_INVARIANT(!slot.encoded.empty() && n >= 1 && n <= kTextContext);
  slot.begun = slot.stepping = false;
  std::fill_n(slot.where.data(), kTextContext, uint8_t{0});
  std::vector<DecoderRow> rows;
  for (int i = 0; i < n; i++) {
    CHECK_INVARIANT(tokens[i] >= 0 && tokens[i] < weights_->dims.vocabulary);
    rows.push_back({index, 0, i, tokens[i], slot.where.data()});
  }
  return forward(Pass::sequences, rows, alignment, nullptr);
}

void HostNetwork::token_probs(const float* hidden, int m, std::span<const int> targets, int limit, float* probs) {
  for (int i = 0; i < m; i++) {
    probs[i] = 0;
    if (targets[i] >= limit) continue;
    project_to_logits(hidden + int64_t{i} * weights_->dims.width, 1);
    const float* logits = logits_.data();
    const float max = *std::max_element(logits, logits + limit);
    double sum = 0;
    for (int j = 0; j < limit; j++) sum += std::exp(logits[j] - max);
    probs[i] = static_cast<float>(std::exp(logits[targets[i]] - max) / sum);
  }
}

Alignment HostNetwork::align(int slot, std::span<const int> tokens, int n_frames) {
  CHECK_INVARIANT(n_frames >= 0 && n_frames <= kAudioContext);
  const int n_heads = static_cast<int>(weights_->alignment_heads.size()), n = static_cast<int>(tokens.size());
  AlignmentScores scores = {n, n_frames, std::vector<float>(int64_t{n_heads} * n * n_frames)};
  std::vector<float> probs(n);
  const float* hidden = feed_sequence(slot, tokens, &scores);
  const int eot = special_tokens(weights_->dims.vocabulary).eot;
  if (n > 1) token_probs(hidden, n - 1, tokens.subspan(1), eot, probs.data() + 1);
  return {n_heads, n, n_frames, std::move(scores.qk), std::move(probs)};
}

std::vector<float> HostNetwork::encoder_output(int slot) const {
  CHECK_INVARIANT(!at(slot).encoded.empty());
  return at(slot).encoded;
}

std::vector<float> HostNetwork::logits(int slot, std::span<const int> tokens) {
  const int n = static_cast<int>(tokens.size());
  const float* hidden = feed_sequence(slot, tokens, nullptr);
  std::vector<float> result;
  result.reserve(int64_t{n} * weights_->dims.vocabulary);
  for (int first = 0; first < n; first += project_capacity()) {
    const int count = std::min(project_capacity(), n - first);
    project_to_logits(hidden + int64_t{first} * weights_->dims.width, count);
    result.insert(result.end(), logits_.begin(), logits_.begin() + int64_t{count} * weights_->dims.vocabulary);
  }
  return result;
}

}  // namespace sotto
