// A network that gives what a test wrote down, so that everything above the seam can be tested without weights.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "kernels/network.h"
#include "models/error.h"

// One pass over one window.
struct Scripted {
  std::vector<int> tokens;
  double avg_log_prob = -0.2;
  double no_speech_prob = 0.01;
  std::vector<double> word_starts_s = {};  // of each text token, then the end of the last; attention goes by it
  float token_prob = 0.9f;
  bool ends = true;                        // with end-of-transcript; otherwise at the limit of tokens
  std::vector<float> log_probs = {};       // of each token on the way; a little surer each time where there are none

  float log_prob(size_t i) const { return i < log_probs.size() ? log_probs[i] : -1.0f / static_cast<float>(i + 1); }
};

class ScriptedNetwork : public sotto::Network {
 public:
  struct Begun {
    std::vector<int> prompt;
    sotto::Settings settings;
  };

  explicit ScriptedNetwork(int vocabulary, int n_slots = 1) : slots_(n_slots) {
    dims_ = {.mel_bins = 80, .vocabulary = vocabulary};
  }

  std::deque<Scripted> script;     // passes to come, in the order in which they begin
  std::vector<float> languages;    // log-probs, given to a prompt that is <|startoftranscript|> alone
  std::deque<std::vector<float>> languages_to_come;  // ... the first times
  std::vector<Begun> begun;        // what was asked for, language detection left out
  std::vector<std::vector<float>> encoded;  // mels
  std::vector<int> encoded_together;        // windows, of each encode()
  std::vector<int> aligned;        // tokens of the last alignment
  int n_languages_asked = 0;
  int n_steps = 0;
  bool stopped = false;

  const sotto::Dims& dims() const override { return dims_; }
  const std::string& description() const override { return description_; }
  int n_slots() const override { return static_cast<int>(slots_.size()); }
  int max_rows() const override { return 5; }

  void encode(std::span<const float* const> mels, std::span<const int>) override {
    for (const float* mel : mels) encoded.emplace_back(mel, mel + sotto::kMelFrames * dims_.mel_bins);
    encoded_together.push_back(static_cast<int>(mels.size()));
  }

  std::vector<sotto::Beginning> begin(std::span<const int> slots, std::span<const std::vector<int>> prompts,
                                      std::span<const sotto::Settings> settings) override {
    if (dims_.multilingual() && prompts[0].size() == 1) {
      std::vector<sotto::Beginning> beginnings;
      for (size_t i = 0; i < prompts.size(); ++i, ++n_languages_asked) {
        beginnings.push_back({.language_log_probs = languages_to_come.empty() ? languages : languages_to_come.front()});
        if (!languages_to_come.empty()) languages_to_come.pop_front();
      }
      return beginnings;
    }
    std::vector<sotto::Beginning> beginnings;
    for (size_t i = 0; i < slots.size(); ++i) {
      CHECK_INVARIANT(!script.empty());  // more passes than the test expects
      const int n_steps_left = static_cast<int>(script.front().tokens.size()) + 1;
      slots_.at(slots[i]) = {script.front(), n_steps_left};
      script.pop_front();
      begun.push_back({prompts[i], settings[i]});
      beginnings.push_back({.no_speech_prob = static_cast<float>(slots_[slots[i]].now.no_speech_prob)});
    }
    return beginnings;
  }

  std::vector<sotto::Progress> step() override {
    std::vector<sotto::Progress> all;
    for (int i = 0; i < n_slots(); ++i) {
      Slot& slot = slots_[i];
      if (slot.steps_left == 0) continue;
      sotto::Progress progress{.slot = i, .finished = --slot.steps_left == 0};
      const size_t at = slot.now.tokens.size() - slot.steps_left;  // tokens so far
      if (!progress.finished) progress.rows.push_back({slot.now.tokens[at - 1], 0, slot.now.log_prob(at - 1)});
      all.push_back(std::move(progress));
    }
    n_steps += !all.empty();
    return all;
  }
  void stop(int slot) override {
    stopped = true;
    slots_.at(slot).steps_left = 0;
  }

  std::vector<sotto::Hypothesis> hypotheses(int slot) const override {
    const Scripted& now = slots_.at(slot).now;
    const double sum = now.avg_log_prob * static_cast<double>(now.tokens.size() + 1);
    return {{.tokens = now.tokens, .sum_log_prob = sum, .finished = now.ends}};
  }

  // Text takes its attention from the script: each token's is on the frames from its start to the next one's. Where
  // nothing is written down, tokens share the time from the script's first timestamp to its last evenly.
  sotto::Alignment align(int slot, std::span<const int> tokens, int n_frames) override {
    const Scripted& now = slots_.at(slot).now;
    aligned.assign(tokens.begin(), tokens.end());
    std::vector<double> starts_s = now.word_starts_s;
    const int n = static_cast<int>(tokens.size());
    if (starts_s.empty()) {
      const auto sot = std::ranges::find(tokens, sotto::special_tokens(dims_.vocabulary).no_timestamps);
      const auto n_text = tokens.end() - sot - 2;
      const int zero = sotto::special_tokens(dims_.vocabulary).first_timestamp;
      const double from_s = (std::max(now.tokens.front(), zero) - zero) / 50.0;
      const double to_s = (std::max(now.tokens.back(), zero) - zero) / 50.0;
      for (int i = 0; i <= n_text; ++i) starts_s.push_back(from_s + (to_s - from_s) * i / static_cast<double>(n_text));
    }
    const int n_times = static_cast<int>(starts_s.size());
    const int first = n - 1 - n_times;  // the token before the text
    CHECK_INVARIANT(first > 0 && n_times > 1);
    sotto::Alignment alignment{1, n, n_frames, std::vector<float>(static_cast<size_t>(n) * n_frames),
                               std::vector<float>(n, now.token_prob)};
    for (int i = 0; i < n_times; ++i) {
      const int begin = static_cast<int>(starts_s[i] * 50 + 0.5);
      const int end = i + 1 < n_times ? static_cast<int>(starts_s[i + 1] * 50 + 0.5) : n_frames;
      for (int frame = begin; frame < end; ++frame)
        alignment.qk[static_cast<size_t>(first + i) * n_frames + frame] = 20;
    }
    return alignment;
  }
  std::vector<float> encoder_output(int) const override { return {}; }
  std::vector<float> logits(int, std::span<const int>) override { return {}; }

 private:
  struct Slot {
    Scripted now;
    int steps_left = 0;
  };

  sotto::Dims dims_;
  const std::string description_ = "a script";
  std::vector<Slot> slots_;
};
