#include "src/language.h"

#include <algorithm>
#include <cmath>

#include "models/error.h"
#include "models/languages.h"

namespace sotto {
namespace {

constexpr double kEnoughSpeechS = 15;   // of which one language is as good as certain
constexpr double kSure = 0.9;
constexpr double kLeastSpeechS = 0.1;   // for which a window counts
constexpr double kEarlierSpeechS = 2;   // for which all that was heard before a window counts beside it

}  // namespace

Spoken fit_to_model(const TranscribeOptions& options, const Dims& dims, const Tokenizer& tokenizer,
                    const std::function<void(const std::string&)>& warn) {
  if (!dims.multilingual()) {
    if (!options.language.empty() && options.language != "en")
      warn("this model knows English alone, so '" + options.language + "' is not used");
    if (options.translate) warn("this model knows English alone, so nothing is translated");
    return {"en", false};
  }
  if (!options.language.empty() && tokenizer.language_token(options.language) < 0)
    throw Error("this model hasn't learnt the language '" + options.language + "'; large-v3 and its kin have");
  for (const std::string& code : options.languages)
    if (tokenizer.language_token(code) < 0)
      throw Error("this model hasn't learnt the language '" + code + "'; leave it out of those to choose from");
  return {options.language, options.translate};
}

// Zeros have a power of 1e-10, or where that is higher the clamp's floor, which lies 8 powers of ten below the maximum;
// all values are scaled, (x + 4) / 4.
void put_silence_behind(Mel& mel, int n_frames) {
  constexpr float kZeros = (-10.0f + 4) / 4;
  CHECK_INVARIANT(n_frames > 0);
  const auto rest = mel.values.begin() + int64_t{n_frames} * mel.bins;
  std::fill(rest, mel.values.end(), std::max(kZeros, *std::max_element(mel.values.begin(), rest) - 2));
}

// Of all languages, 0 for those that aren't allowed.
std::vector<double> LanguageVote::probabilities(std::span<const float> log_probs) const {
  CHECK_INVARIANT(!log_probs.empty() && log_probs.size() <= languages().size());
  std::vector<double> all(log_probs.size());
  double sum = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!allowed_.empty() && std::ranges::find(allowed_, languages()[i].code) == allowed_.end()) continue;
    sum += all[i] = std::exp(std::max(log_probs[i], -80.0f));  // above 0, so that there is always one to choose
  }
  for (double& probability : all) probability /= sum;
  return all;
}

void LanguageVote::hear(std::span<const float> log_probs, double speech_s) {
  speech_s = std::max(speech_s, kLeastSpeechS);
  const std::vector<double> heard = probabilities(log_probs);
  sums_.resize(heard.size());
  for (size_t i = 0; i < heard.size(); ++i) sums_[i] += speech_s * heard[i];
  speech_s_ += speech_s;
  ++n_heard_;
}

bool LanguageVote::settled() const {
  const bool sure = speech_s_ >= kEnoughSpeechS && result().probability >= kSure;
  return n_heard_ >= kMostWindows || (n_heard_ >= least_ && sure);
}

HeardLanguage LanguageVote::result() const {
  CHECK_INVARIANT(heard_any());
  const auto best = std::ranges::max_element(sums_);
  return {std::string(languages()[best - sums_.begin()].code), *best / speech_s_};
}

std::string LanguageVote::of_window(std::span<const float> log_probs, double speech_s) const {
  std::vector<double> scores = probabilities(log_probs);
  if (heard_any())
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] = scores[i] * speech_s + sums_[i] / speech_s_ * kEarlierSpeechS;
  return std::string(languages()[std::ranges::max_element(scores) - scores.begin()].code);
}

}  // namespace sotto
