// Which language is spoken, and what the model can do about it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "audio/mel.h"
#include "models/tokenizer.h"
#include "src/options.h"

namespace sotto {

// Language and task of a transcript, as far as they are known before anything was heard.
struct Spoken {
  std::string language;  // code; empty: to be detected
  bool translate = false;
};

// What was asked for, fitted to the model: one for English alone has no other language and no translation, which is
// said through warn. Throws Error for a language that this model hasn't learnt.
Spoken fit_to_model(const TranscribeOptions& options, const Dims& dims, const Tokenizer& tokenizer,
                    const std::function<void(const std::string&)>& warn);

// Makes the rest of a window behind its n_frames what the front end gives for digital silence: so the model hears which
// language is spoken, as the reference has it. (Where text is written nothing, 0.0, is behind a short sound.)
void put_silence_behind(Mel& mel, int n_frames);

struct HeardLanguage {
  std::string code;
  double probability = 0;  // among those that were to choose from
};

// Which language is spoken, by what several windows say: each gives its probabilities, and the one with the largest sum
// has it. A single window can be music, a name, or a greeting in another language.
class LanguageVote {
 public:
  static constexpr std::ptrdiff_t kMostWindows = 5;  // that are listened to

  // allowed: codes of the languages to choose from; empty: all. least: windows to listen to, if there are so many.
  explicit LanguageVote(std::span<const std::string> allowed, int least = 1)
      : allowed_(allowed.begin(), allowed.end()), least_(least) {}

  // log_probs: of the model's languages, in their order. speech_s: seconds of speech in the window, by which it counts.
  void hear(std::span<const float> log_probs, double speech_s);

  bool heard_any() const { return n_heard_ > 0; }
  bool settled() const;          // more windows aren't worth the time
  HeardLanguage result() const;  // of what was heard; something must have been

  // The language of a window by itself: the less it has to say, the more by what was heard before it.
  std::string of_window(std::span<const float> log_probs, double speech_s) const;

 private:
  std::vector<double> probabilities(std::span<const float> log_probs) const;

  std::vector<std::string> allowed_;
  int least_;
  int n_heard_ = 0;
  std::vector<double> sums_;  // of weighted probabilities, by language
  double speech_s_ = 0;
};

}  // namespace sotto
