// Log-mel spectrogram, equal to the reference's within 1e-4. Source: openai/whisper audio.py (STFT of 400 points, hop
// 160, periodic Hann, reflected edges; Slaney mel filters of 80 or 128 bins; log10, clamp, scale).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/dims.h"

namespace sotto {

constexpr float kUnclamped = -1e9f;

// One 30 s window as the encoder takes it: [3000][bins], frame after frame, scaled and clamped; 0.0 past the end.
struct Mel {
  int bins = 0;
  std::vector<float> values;
};

// Of a window of n_frames without the clamp: clamps it to its own maximum, so that what is said softly far from anything
// loud, or long before it, stands out as it does in a sound of its own.
void clamp_to_own_maximum(Mel& mel, int n_frames);

// Log10 of the mel power of a growing stretch of sound, before the clamp. Sound is pushed in order; a frame is there as
// soon as the 200 samples after its centre are (frame 0: 201, for the reflection). Frames before a point can be
// dropped, so memory is bounded. The values don't depend on how the sound was cut into pushes.
class LogMel {
 public:
  explicit LogMel(int bins);  // 80 or 128
  ~LogMel();

  void push(std::span<const float> samples);  // in [-1, 1]; what isn't is clipped, and NaN taken as 0
  void finish();  // no more sound: the rest is as if 30 s of zeros followed

  int64_t n_samples() const;        // pushed so far
  int64_t frames_ready() const;     // frames [first_kept, frames_ready) can be read
  int64_t content_frames() const;   // after finish(): samples / 160, but at least 1 if there is any sound
  float maximum() const;            // of all frames so far (after finish(): of the zeros too), for the clamp
  void drop_before(int64_t frame);

  // The window of n_frames (up to 3000) frames from first on, clamped to maximum - 8 and scaled: (x + 4) / 4. With
  // kUnclamped as the maximum it is only scaled.
  void window(int64_t first, int n_frames, float maximum, Mel& out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sotto
