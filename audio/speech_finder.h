// Stretches of speech from the probabilities of a voice-activity network, as they come: the rules of Silero's
// get_speech_timestamps (MIT; github.com/snakers4/silero-vad).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audio/vad.h"

namespace sotto {

// Speech begins with a chunk at or above the threshold and ends where min_silence of chunks below the threshold for the
// end begins.
struct VadSettings {
  float threshold = 0.5f;
  float end_threshold = 0.35f;
  int min_speech_ms = 250;   // shorter speech is dropped
  int min_silence_ms = 100;  // shorter silence doesn't part speech
  int pad_ms = 30;           // added to both ends; neighbours share what is between them
};

struct Speech {
  int64_t start, end;  // samples

  bool operator==(const Speech&) const = default;
};

class SpeechFinder {
 public:
  explicit SpeechFinder(const VadSettings& settings) : settings_(settings) {}

  // The probability of the next chunk.
  void push(float probability);

  // The sound goes on at this sample, which lies behind the chunks so far: speech doesn't reach over to it.
  void jump(int64_t sample);

  // The sound ends at this sample: speech that goes on ends there.
  void finish(int64_t end);

  // What is over, in order and without padding; and where speech that still goes on began.
  const std::vector<Speech>& found() const { return found_; }
  std::optional<int64_t> open() const { return start_ < 0 ? std::nullopt : std::optional(start_); }
  // Where the silence began that may end it, which is as long as min_silence at most.
  std::optional<int64_t> silence() const { return silence_ < 0 ? std::nullopt : std::optional(silence_); }

 private:
  void end_speech(int64_t end);

  VadSettings settings_;
  std::vector<Speech> found_;
  int64_t at_ = 0;                    // the next chunk's first sample
  int64_t start_ = -1, silence_ = -1; // of speech that goes on; negative: none
};

// The speech in n_samples of sound, in order and padded, from the probabilities of all its chunks.
std::vector<Speech> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                    const VadSettings& settings = {});

}  // namespace sotto
