// One file on its way through one engine: what the modes share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/decode.h"
#include "audio/features.h"
#include "audio/mel.h"
#include "src/decode_window.h"
#include "src/language.h"
#include "src/prompt.h"
#include "src/transcribe.h"
#include "src/voice.h"
#include "src/windows.h"

namespace sotto {

inline double seconds_of(int64_t samples) { return static_cast<double>(samples) / kSampleRate; }
inline double frame_seconds(int64_t frame) { return seconds_of(frame * kMelHop); }

struct Job {
  Job(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener);

  double read_s() const { return seconds_of(features.n_samples()); }  // the sound's length once it has been read

  bool language_per_window() const { return options.language_per_segment && spoken.language.empty(); }

  // Of each window that these slots hold: the log-probs of all languages.
  std::vector<std::vector<float>> language_log_probs(std::span<const int> slots);
  void take_language();  // that has most of the vote; says so

  std::vector<int> prompt(std::span<const int> history, const std::string& language) const;

  // Times of words for the segments of the window that a slot holds, which take them over. last_speech_s: the end of the
  // word before it.
  void add_words(int slot, int n_frames, std::span<Segment> segments, const std::string& language,
                 double last_speech_s);

  // Whether it is worth a look at the words' times: some speech is in no segment, or one says too little for the speech
  // under it.
  bool may_lack_speech(std::span<const Segment> segments, std::span<const Speech> heard) const;

  // A segment of a window that was decoded so. It goes to whoever listens, and into the transcript.
  void add(Segment segment);

  void report(int64_t frame);   // the sound is done up to there
  void pass_warnings_on();

  Engine& engine;
  const TranscribeOptions& options;
  const Listener& listener;
  const Spoken spoken;
  Decoder decoder;
  Features features;
  Voice voice;
  const std::vector<Clip> clips;
  const PromptTexts texts;
  WindowDecoder windows;
  LanguageVote vote;
  Transcript transcript;
  bool heard_voice = false;  // in a window
  int64_t reached = 0;       // the last frame reported
};

// Gives segments what is known of their whole window.
void describe(std::span<Segment> segments, const Decoded& decoded);

}  // namespace sotto
