// Where somebody speaks, found while the sound is read: a Whisper finds words in silence and noise, too, so what isn't
// speech is never decoded, and what is speech must not get lost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/features.h"
#include "audio/speech_finder.h"
#include "audio/vad.h"
#include "src/windows.h"

namespace sotto {

// Whether there is a voice in a window, from the probabilities of its chunks: three in a row at or above the threshold.
bool holds_voice(std::span<const float> probabilities, float threshold);

// Listens to the sound in its order, here and there with a leap to a later place.
class Voice {
 public:
  Voice(Vad* vad, const VadSettings& settings);  // null: nobody listens, and all there is counts as speech

  bool active() const { return vad_ != nullptr; }

  // Goes on listening up to frame `end`; what lies between the last place heard and `first` is left out.
  void hear(Features& features, int64_t first, int64_t end);

  // Listens to a window, and tells whether it holds a voice. Windows come in the order of the sound, though one may
  // begin inside the last one.
  bool hears_voice(Features& features, const Window& window);

  // The sound, or the clip, has its end at this sample: speech ends with it.
  void finish(int64_t sample) { finder_.finish(sample); }

  // The speech heard so far that ends behind a sample, unpadded and in order, soft speech among it. The last stretch may
  // not be over yet.
  std::vector<Speech> speech_from(int64_t sample) const;

 private:
  std::vector<Speech> loud_speech_from(int64_t sample) const;
  int64_t heard() const { return (first_chunk_ + std::ssize(probabilities_)) * kVadChunk; }
  void look_again(Features& features);
  void look_until(int64_t sample, Features& features);

  Vad* const vad_;
  const VadSettings settings_;
  SpeechFinder finder_;
  int64_t first_chunk_ = 0;           // that probabilities_ begins with
  std::vector<float> probabilities_;  // of speech, in chunks of kVadChunk samples, from the last window on
  std::vector<Speech> soft_;          // found at a second look at what seemed silent
  int64_t silence_ = 0, looked_ = 0;  // samples where the last silence began, and up to where that look won't change
};

}  // namespace sotto
