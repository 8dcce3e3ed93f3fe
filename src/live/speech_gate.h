// Where utterances begin and end, from the probabilities of a voice-activity network as they come. Nothing is decoded
// outside of them.
#pragma once

#include <cstdint>

#include "audio/vad.h"

namespace sotto {

struct GateSettings {
  float threshold = 0.5f;       // a chunk at or above it holds a voice
  float end_threshold = 0.35f;  // one below it is silence
  int onset_chunks = 3;         // with a voice, in a row, begin an utterance
  int pause_ms = 450;           // of silence end it
};

class SpeechGate {
 public:
  explicit SpeechGate(const GateSettings& settings) : settings_(settings) {}

  enum class Event { none, onset, pause };
  Event push(float probability);  // of the next chunk of kVadChunk samples

  bool speaking() const { return speaking_; }
  int64_t onset() const { return onset_; }            // first sample of the latest utterance
  int64_t voice_end() const { return voice_end_; }    // end of the last chunk that was no silence, in an utterance
  int64_t position() const { return at_; }            // end of what was pushed

 private:
  const GateSettings settings_;
  bool speaking_ = false;
  int n_voice_ = 0;  // chunks in a row that hold a voice
  int64_t at_ = 0, onset_ = 0, voice_end_ = 0;
};

}  // namespace sotto
