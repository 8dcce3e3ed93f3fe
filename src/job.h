// One file on its way through one engine: what the modes share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audio/decode.h"
#include "audio/features.h"
#include "audio/mel.h"
#include "src/decode_window.h"
#include "src/language.h"
#include "src/transcribe.h"
#include "src/voice.h"
#include "src/windows.h"

namespace sotto {

inline double seconds_of(int64_t samples) { return static_cast<double>(samples) / kSampleRate; }
inline double frame_seconds(int64_t frame) { return seconds_of(frame * kMelHop); }

struct Job {
  Job(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener);

  int language_token() const { return engine.tokenizer.language_token(transcript.language); }
  double read_s() const { return seconds_of(features.n_samples()); }  // the sound's length once it has been read

  // Listens for the language to what a slot holds, and says what it is.
  void detect_language(int slot);

  // Times of words for the segments of the window that a slot holds, which take them over. last_speech_s: the end of the
  // word before it.
  void add_words(int slot, int n_frames, std::span<Segment> segments, double last_speech_s);

  // A segment of a window that was decoded so. It goes to whoever listens, and into the transcript.
  void add(Segment segment);

  void report(int64_t frame);   // so far it has come
  void pass_warnings_on();

  Engine& engine;
  const TranscribeOptions& options;
  const Listener& listener;
  const Spoken spoken;
  Decoder decoder;
  Features features;
  Voice voice;
  const std::vector<Clip> clips;
  const std::vector<int> initial_prompt;
  WindowDecoder windows;
  Transcript transcript;
  bool heard_voice = false;  // in a window
};

// Gives segments what is known of their whole window.
void describe(std::span<Segment> segments, const Decoded& decoded);

}  // namespace sotto
