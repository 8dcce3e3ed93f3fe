// Whether anybody speaks in a window, asked before it is decoded: a Whisper finds words in silence and noise, too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/features.h"
#include "audio/vad.h"
#include "src/windows.h"

namespace sotto {

// Whether there is a voice in a window, from the probabilities of its chunks.
bool holds_voice(std::span<const float> probabilities);

class VoiceGate {
 public:
  explicit VoiceGate(Vad* vad);  // null: every window is let through

  bool active() const { return vad_ != nullptr; }

  // Windows come in the order of the sound, though one may begin inside the last one.
  bool hears_voice(Features& features, const Window& window);

 private:
  void listen(Features& features, int64_t first_chunk, int64_t end_chunk);

  Vad* vad_;
  int64_t first_chunk_ = 0;           // that probabilities_ begins with
  std::vector<float> probabilities_;  // of speech, in chunks of kVadChunk samples
};

}  // namespace sotto
