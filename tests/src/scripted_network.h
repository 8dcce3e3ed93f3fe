// A network that gives what a test wrote down, so that everything above the seam can be tested without weights.
#pragma once

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
};

class ScriptedNetwork : public sotto::Network {
 public:
  struct Begun {
    std::vector<int> prompt;
    sotto::Settings settings;
  };

  explicit ScriptedNetwork(int vocabulary) { dims_ = {.mel_bins = 80, .vocabulary = vocabulary}; }

  std::deque<Scripted> script;     // passes to come
  std::vector<float> languages;    // log-probs, given to a prompt that is <|startoftranscript|> alone
  std::deque<std::vector<float>> languages_to_come;  // ... the first times
  std::vector<Begun> begun;        // what was asked for, language detection left out
  std::vector<std::vector<float>> encoded;  // mels
  std::vector<int> aligned;        // tokens of the last alignment
  int n_languages_asked = 0;
  bool stopped = false;

  const sotto::Dims& dims() const override { return dims_; }
  const std::string& description() const override { return description_; }
  int n_slots() const override { return 1; }
  int max_rows() const override { return 5; }

  void encode(std::span<const float* const> mels, std::span<const int>) override {
    encoded.emplace_back(mels[0], mels[0] + sotto::kMelFrames * dims_.mel_bins);
  }

  std::vector<sotto::Beginning> begin(std::span<const int>, std::span<const std::vector<int>> prompts,
                                      std::span<const sotto::Settings> settings) override {
    if (dims_.multilingual() && prompts[0].size() == 1) {
      std::vector<sotto::Beginning> beginnings;
      for (size_t i = 0; i < prompts.size(); ++i, ++n_languages_asked) {
        beginnings.push_back({.language_log_probs = languages_to_come.empty() ? languages : languages_to_come.front()});
        if (!languages_to_come.empty()) languages_to_come.pop_front();
      }
      return beginnings;
    }
    CHECK_INVARIANT(!script.empty());  // more passes than the test expects
    now_ = script.front();
    script.pop_front();
    steps_left_ = static_cast<int>(now_.tokens.size()) + 1;
    begun.push_back({prompts[0], settings[0]});
    return {{.no_speech_prob = static_cast<float>(now_.no_speech_prob)}};
  }

  std::vector<sotto::Progress> step() override {
    if (steps_left_ == 0) return {};
    return {{.slot = 0, .finished = --steps_left_ == 0}};
  }
  void stop(int) override {
    stopped = true;
    steps_left_ = 0;
  }

  std::vector<sotto::Hypothesis> hypotheses(int) const override {
    const double sum = now_.avg_log_prob * static_cast<double>(now_.tokens.size() + 1);
    return {{.tokens = now_.tokens, .sum_log_prob = sum, .finished = true}};
  }

  // Text takes its attention from the script: each token's is on the frames from its start to the next one's.
  sotto::Alignment align(int, std::span<const int> tokens, int n_frames) override {
    aligned.assign(tokens.begin(), tokens.end());
    const int n = static_cast<int>(tokens.size()), n_times = static_cast<int>(now_.word_starts_s.size());
    const int first = n - 1 - n_times;  // the token before the text
    CHECK_INVARIANT(first > 0 && n_times > 1);
    sotto::Alignment alignment{1, n, n_frames, std::vector<float>(static_cast<size_t>(n) * n_frames),
                               std::vector<float>(n, now_.token_prob)};
    for (int i = 0; i < n_times; ++i) {
      const int begin = static_cast<int>(now_.word_starts_s[i] * 50 + 0.5);
      const int end = i + 1 < n_times ? static_cast<int>(now_.word_starts_s[i + 1] * 50 + 0.5) : n_frames;
      for (int frame = begin; frame < end; ++frame)
        alignment.qk[static_cast<size_t>(first + i) * n_frames + frame] = 20;
    }
    return alignment;
  }
  std::vector<float> encoder_output(int) const override { return {}; }
  std::vector<float> logits(int, std::span<const int>) override { return {}; }

 private:
  sotto::Dims dims_;
  const std::string description_ = "a script";
  Scripted now_;
  int steps_left_ = 0;
};
