#include "src/live/speech_gate.h"

#include "models/dims.h"

namespace sotto {

SpeechGate::Event SpeechGate::push(float probability) {
  at_ += kVadChunk;
  n_voice_ = probability >= settings_.threshold ? n_voice_ + 1 : 0;
  if (!speaking_) {
    if (n_voice_ < settings_.onset_chunks) return Event::none;
    speaking_ = true;
    onset_ = at_ - int64_t{n_voice_} * kVadChunk;
    voice_end_ = at_;
    return Event::onset;
  }
  if (probability >= settings_.end_threshold) voice_end_ = at_;
  if ((at_ - voice_end_) * 1000 < int64_t{settings_.pause_ms} * kSampleRate) return Event::none;
  speaking_ = false;
  return Event::pause;
}

}  // namespace sotto
