// Which of several decodings of a window is taken, whether it is good enough, and whether the window was silent.
// Source: openai/whisper transcribe.py and decoding.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/network.h"
#include "src/options.h"

namespace sotto {

// What was taken from one pass over one window.
struct Decoded {
  std::vector<int> tokens;  // timestamps too; no end-of-transcript
  std::string text;         // stripped
  double temperature = 0;
  double avg_log_prob = 0;  // of the tokens and the end-of-transcript
  double compression_ratio = 0;
  double no_speech_prob = 0;
  bool ended = true;        // by end-of-transcript, not at the limit of tokens
  bool looped = false;      // stopped in a loop, which is cut off
  bool too_fast = false;    // more than can be said in its sound
  bool failed = false;      // no attempt was good
};

// Temperatures from the first one up to 1 in equal steps; the first one alone without a step. Both in [0, 1] or so.
std::vector<double> temperature_ladder(double first, std::optional<double> step);

// The best hypothesis: highest sum of log-probs by ((5 + length) / 6)^alpha, or by the length without an alpha. Of
// equal ones the first. There must be one.
const Hypothesis& best_hypothesis(std::span<const Hypothesis> hypotheses, std::optional<double> length_penalty);

// Bytes of a text by the bytes it takes in zlib's format at its default level, as Python's zlib module gives it. Text
// that repeats itself has a high one. 0 for empty text.
double compression_ratio(std::string_view text);

// The decoding was repetitive, too much for its sound or unsure, and it wasn't silence: the next temperature is tried.
bool needs_fallback(const Decoded& decoded, const ThresholdOptions& thresholds);

bool repetitive(const Decoded& decoded, const ThresholdOptions& thresholds);

// All that is wrong with it is that it repeats itself: it is sure, and came to its end.
bool merely_repetitive(const Decoded& decoded, const ThresholdOptions& thresholds);

// What is taken for a window if every attempt failed, in their order: the most probable that can have been said and doesn't
// repeat itself, else the most probable that came to its end, else the most probable. (The reference takes the last, which
// at temperature 1 is a random text.) There must be one.
Decoded best_of_failed(std::span<const Decoded> attempts, const ThresholdOptions& thresholds);

// Nothing is spoken in the window: what was decoded is dropped.
bool is_silence(const Decoded& decoded, const ThresholdOptions& thresholds);

// Whether the text is one that the next window should know: none from so high a temperature, and none that failed.
inline bool fit_for_prompt(const Decoded& decoded) { return decoded.temperature <= 0.5 && !decoded.failed; }

// Key of the noise for one attempt at one window: the same seed gives the same samples, whatever ran before.
uint64_t sample_key(uint64_t seed, int64_t window_seek, int attempt);

}  // namespace sotto
