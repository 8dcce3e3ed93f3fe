// From a decoder to encoder windows at any place: reads ahead where the input allows it, so that the clamp's maximum is
// the whole file's (the reference's rule); on pipes it is the maximum so far. Memory stays bounded: sound that was read
// ahead lies in an unnamed temporary file, as s16.
#pragma once

#include <cstdint>
#include <memory>

#include "audio/decode.h"
#include "audio/mel.h"

namespace sotto {

class Features {
 public:
  // Reads a seekable input to its end at once.
  Features(Decoder& decoder, int bins);
  ~Features();

  // How many of the `wanted` frames from `first` on there are; fewer only where the sound ends. Reads a pipe as needed.
  int available(int64_t first, int wanted);

  // The window of n_frames from first on; they must be available and not before an earlier window's first frame.
  void window(int64_t first, int n_frames, Mel& out);

  // Samples [first, first + n) of the sound; zeros past its end. Same order rule as for windows.
  void sound(int64_t first, int64_t n, float* out);

  bool whole() const;          // the end has been seen: n_samples is the length
  int64_t n_samples() const;   // read so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sotto
