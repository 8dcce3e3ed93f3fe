// A speaker and a network that hears him, for everything above the seam: it knows what was said up to now, guesses wrong
// at a word that isn't all there, and looks where the word is, as a Whisper does.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/network.h"
#include "models/tokenizer.h"
#include "src/live/captioner.h"

struct SpokenWord {
  std::string text;  // with its leading space
  double start_s, end_s;
};

class LiveNetwork : public sotto::Network {
 public:
  LiveNetwork(int vocabulary, const sotto::Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    dims_ = {.mel_bins = 80, .vocabulary = vocabulary};
  }

  std::vector<SpokenWord> spoken;
  std::function<double()> heard_s;  // where the window ends
  std::string loop;                // said over and over instead of what was spoken, while it isn't empty
  bool shy = false;                // says nothing behind text that it is given, unless it must
  std::string misheard;            // a word that only beams get right
  int n_rows = 1;                  // that it can have
  int n_beam_passes = 0;
  std::string trail;               // written behind all that is heard, if it may be, as of sound far from there
  std::vector<float> languages;    // log-probs
  int n_encoded = 0, most_frames = 0;
  std::vector<std::vector<int>> prompts;  // language detection left out; the last ones

  const sotto::Dims& dims() const override { return dims_; }
  const std::string& description() const override { return description_; }
  int n_slots() const override { return 1; }
  int max_rows() const override { return n_rows; }

  // How long the window is shows where it begins: what is heard last is its end.
  void encode(std::span<const float* const> mels, std::span<const int>) override {
    ++n_encoded;
    int n = sotto::kMelFrames;
    const auto empty = [&](int frame) {
      const float* values = mels[0] + static_cast<size_t>(frame) * dims_.mel_bins;
      return std::all_of(values, values + dims_.mel_bins, [](float value) { return value == 0; });
    };
    while (n > 0 && empty(n - 1)) --n;
    most_frames = std::max(most_frames, n);
    end_s_ = heard_s();
    first_s_ = end_s_ - n / 100.0;
  }

  std::vector<sotto::Beginning> begin(std::span<const int>, std::span<const std::vector<int>> all,
                                      std::span<const sotto::Settings> settings) override {
    const std::vector<int>& prompt = all[0];
    if (prompt.size() == 1) return {{.language_log_probs = languages}};
    if (prompts.size() == 1000) prompts.erase(prompts.begin(), prompts.begin() + 500);
    prompts.push_back(prompt);
    next_ = said_.size();
    said_.clear();
    frames_.clear();
    log_probs_.clear();
    const bool beams = settings[0].rows > 1;
    n_beam_passes += beams;
    const auto text = std::ranges::find(prompt, tokenizer_.special().no_timestamps) + 1;
    const std::string committed = tokenizer_.decode({text, prompt.end()});
    size_t covered = 0;
    for (const SpokenWord& word : spoken) {
      if (word.end_s <= first_s_ + 0.05 || word.start_s + 0.05 >= end_s_) continue;
      if (covered < committed.size() && committed.compare(covered, word.text.size(), word.text) == 0) {
        covered += word.text.size();
        continue;
      }
      const bool whole = word.end_s <= end_s_;
      const bool wrong = whole && !beams && word.text == misheard;
      say(wrong ? " mist" : loop.empty() ? whole ? word.text : " hm" + std::to_string(guess_++ % 10) : loop, word);
      if (wrong) log_probs_.resize(said_.size() - 1, -0.1f), log_probs_.push_back(-1);
    }
    if (!trail.empty() && !said_.empty()) {
      const int token = tokenizer_.encode(trail).front();
      const auto& suppress = settings[0].suppress;
      if (!suppress || !((*suppress)[token / 32] >> token % 32 & 1)) said_.push_back(token), frames_.push_back(1499);
    }
    if (shy && !committed.empty() && !settings[0].suppress_blank) said_.clear(), frames_.clear();
    next_ = 0;
    return {{.no_speech_prob = 0.01f}};
  }

  std::vector<sotto::Progress> step() override {
    sotto::Progress progress{.slot = 0, .finished = next_ >= said_.size()};
    const int token = progress.finished ? tokenizer_.special().eot : said_[next_];
    progress.rows.push_back({token, 0, next_ < log_probs_.size() ? log_probs_[next_] : -0.1f});
    progress.most_attended = progress.finished ? edge() : frames_[next_];
    ++next_;
    return {progress};
  }
  void stop(int) override {}

  double first_s() const { return first_s_; }  // where the last window began

  std::vector<sotto::Hypothesis> hypotheses(int) const override {
    const size_t n = std::min(next_, said_.size());
    return {{.tokens = {said_.begin(), said_.begin() + static_cast<std::ptrdiff_t>(n)},
             .sum_log_prob = -0.1 * static_cast<double>(n + 1),
             .finished = next_ > said_.size()}};
  }

  // The text is of the words that are spoken in the window, one after the other.
  sotto::Alignment align(int, std::span<const int> tokens, int n_frames) override {
    const int n = static_cast<int>(tokens.size());
    sotto::Alignment alignment{1, n, n_frames, std::vector<float>(static_cast<size_t>(n) * n_frames),
                               std::vector<float>(n, 0.9f)};
    std::vector<double> starts_s;
    for (const SpokenWord& word : spoken)
      if (word.end_s > first_s_ + 0.05)
        starts_s.insert(starts_s.end(), tokenizer_.encode(word.text).size(), word.start_s - first_s_);
    const auto text = std::ranges::find(tokens, tokenizer_.special().no_timestamps) - tokens.begin();
    for (int64_t row = text; row + 1 < n; ++row) {
      const size_t i = static_cast<size_t>(row - text);
      if (i >= starts_s.size()) break;
      const int begin = std::clamp(static_cast<int>(starts_s[i] * 50), 0, n_frames - 1);
      const int end = i + 1 < starts_s.size() ? std::clamp(static_cast<int>(starts_s[i + 1] * 50), 0, n_frames) : n_frames;
      for (int frame = begin; frame < std::max(end, begin + 1); ++frame)
        alignment.qk[static_cast<size_t>(row) * n_frames + frame] = 20;
    }
    return alignment;
  }
  std::vector<float> encoder_output(int) const override { return {}; }
  std::vector<float> logits(int, std::span<const int>) override { return {}; }

 private:
  int edge() const { return static_cast<int>((end_s_ - first_s_) * 50); }
  void say(const std::string& text, const SpokenWord& word) {
    const double middle_s = (word.start_s + std::min(word.end_s, end_s_)) / 2 - first_s_;
    for (const int token : tokenizer_.encode(text)) {
      said_.push_back(token);
      frames_.push_back(word.end_s <= end_s_ ? static_cast<int>(middle_s * 50) : edge() - 1);
    }
  }

  const sotto::Tokenizer& tokenizer_;
  sotto::Dims dims_;
  const std::string description_ = "a listener";
  double first_s_ = 0, end_s_ = 0;
  std::vector<int> said_, frames_;
  std::vector<float> log_probs_;  // of the first of them; of the others -0.1
  size_t next_ = 0;
  int guess_ = 0;
};

// All that came out.
class Kept : public sotto::CaptionOutput {
 public:
  void update(const sotto::CaptionUpdate& update) override {
    updates.push_back(update);
    for (const sotto::Word& word : update.committed) {
      committed += word.text;
      delay_s += update.heard_s - word.end_s;
      ++n_words;
    }
    if (forgets) updates.clear();
  }
  void level(double, float, bool) override { ++n_levels; }
  void notice(double, const std::string& sentence) override { notices.push_back(sentence); }
  void finish() override { finished = true; }

  std::vector<sotto::CaptionUpdate> updates;
  std::string committed;
  std::vector<std::string> notices;
  double delay_s = 0;      // of all words together, from their end until they were committed
  int n_words = 0, n_levels = 0;
  bool forgets = false;  // keeps the text alone
  bool finished = false;
};

// A captioner with such a speaker: it hears sound where words are spoken, and silence elsewhere.
struct LiveScene {
  explicit LiveScene(int vocabulary = 51864)
      : engine{std::make_shared<sotto::Weights>(sotto::Weights{.dims = {.mel_bins = 80, .vocabulary = vocabulary}}),
               sotto::Tokenizer(vocabulary), nullptr, nullptr} {
    engine.network = std::make_unique<LiveNetwork>(vocabulary, engine.tokenizer);
  }
  LiveNetwork& network() { return static_cast<LiveNetwork&>(*engine.network); }

  // Words from first_s on, `every_s` after each other, with no pause between them.
  void speak(double first_s, int n, double every_s = 0.4) {
    static const char* const kWords[] = {" the", " ship", " went", " down", " north", " of", " seven", " green", " islands",
                                         " at", " noon"};
    for (int i = 0; i < n; ++i)
      network().spoken.push_back({kWords[(i * 7 + i / 11) % 11], first_s + i * every_s, first_s + (i + 1) * every_s});
  }
  std::string text() {
    std::string all;
    for (const SpokenWord& word : network().spoken) all += word.text;
    return all;
  }

  sotto::Captioner& captioner() {
    if (!made)
      made = std::make_unique<sotto::Captioner>(
          engine,
          [](std::span<const float> sound) {
            std::vector<float> probabilities;
            for (size_t i = 0; i < sound.size(); i += sotto::kVadChunk)
              probabilities.push_back(std::abs(sound[i + 7]) > 0.01f ? 0.95f : 0.02f);
            return probabilities;
          },
          options, output);
    network().heard_s = [this] { return made->heard_s(); };
    return *made;
  }

  // Lets it hear what comes until then, in pieces of piece_s.
  void hear_until(double end_s, double piece_s = 0.25) {
    while (at_s < end_s - 1e-9) {
      const double next_s = std::min(end_s, at_s + piece_s);
      std::vector<float> sound;
      std::vector<SpokenWord> near;
      std::ranges::copy_if(network().spoken, std::back_inserter(near), [&](const SpokenWord& word) {
        return word.end_s > at_s && word.start_s < next_s;
      });
      for (auto i = std::llround(at_s * 16000); i < std::llround(next_s * 16000); ++i) {
        const double s = static_cast<double>(i) / 16000;
        const bool voice = std::ranges::any_of(near, [s](const SpokenWord& word) {
          return word.start_s <= s && s < word.end_s;
        });
        sound.push_back(voice ? 0.3f * static_cast<float>(i % 16 < 8 ? 1 : -1) : 0.0f);
      }
      at_s = next_s;
      captioner().hear(sound, waiting);
    }
  }

  sotto::Engine engine;
  sotto::LiveOptions options;
  Kept output;
  std::function<double()> waiting = [] { return 0.0; };
  double at_s = 0;
  std::unique_ptr<sotto::Captioner> made;
};
