// What a transcription can be asked for. Names and defaults are those of openai-whisper's command line, so that its
// users find what they know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audio/speech_finder.h"

namespace sotto {

struct SamplingOptions {
  std::vector<double> temperatures = {0.0, 0.2, 0.4, 0.6, 0.8, 1.0};  // tried in this order until a decoding is good
  int beam_size = 5;                     // at temperature 0; 1: greedy
  int best_of = 5;                       // independent samples above temperature 0
  double patience = 1;                   // beam search ends with round(beam_size * patience) finished beams
  std::optional<double> length_penalty;  // alpha of ((5 + length) / 6)^alpha, 0 to 1; none: divide by the length
  std::string suppress_tokens = "-1";    // comma list of tokens; -1 stands for all that aren't speech
  uint64_t seed = 0;                     // of the samples
};

// When a decoding counts as failed, or as silence. None: that test is left out.
struct ThresholdOptions {
  std::optional<double> compression_ratio = 2.4;  // more: too repetitive
  std::optional<double> log_prob = -1.0;          // average of the tokens; less: too unsure
  std::optional<double> no_speech = 0.6;          // more, and too unsure: silence
};

struct PromptOptions {
  std::string hotwords;                      // names and words to expect, before each window
  std::optional<std::string> initial;        // text before the first window
  bool carry_initial = false;                // ... and before each one
  bool condition_on_previous_text = true;    // the text so far is the prompt of the next window
};

struct WordOptions {
  bool timestamps = false;                                      // when each word is spoken
  std::string prepend_punctuations = "\"'“¿([{-";               // marks that belong to the next word
  std::string append_punctuations = "\"'.。,，!！?？:：”)]}、";  // ... and to the one before them
  // Text that looks made up is skipped with the silence beside it if that is longer, in seconds. None: it never is.
  std::optional<double> hallucination_silence_threshold;
};

// Windows after each other, each knowing the text before it, as the reference has it; or side by side.
enum class Mode { sequential, batched };

struct TranscribeOptions {
  Mode mode = Mode::sequential;
  std::string language;    // code; empty: detected
  std::vector<std::string> languages;  // codes of those to choose from when it is detected; empty: all
  bool language_per_segment = false;   // detected for each window anew, not once for the sound
  bool translate = false;  // to English
  SamplingOptions sampling;
  ThresholdOptions thresholds;
  PromptOptions prompt;
  WordOptions words;
  std::vector<double> clip_timestamps;  // start, end, start, end ... in seconds; without a last end: the sound's end
  bool split_channels = false;          // each transcribed on its own, with its name as the speaker
  bool voice_activity = true;           // where no voice is heard nothing is decoded
  VadSettings vad = {.min_speech_ms = 90, .min_silence_ms = 160, .pad_ms = 1000};
};

}  // namespace sotto
