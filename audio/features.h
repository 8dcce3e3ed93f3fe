// From a decoder to encoder windows at any place: reads ahead where the input allows it, so that the clamp's maximum is
// the whole file's (the reference's rule); on pipes it is the maximum of the frames up to the furthest one asked for.
// Memory stays bounded: sound that was read ahead lies in an unnamed temporary file (in $TMPDIR, else /tmp) once it is
// longer than some minutes; of a pipe's sound, what no window can ask for any more is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "audio/decode.h"
#include "audio/mel.h"

namespace sotto {

class Features {
 public:
  // Reads a seekable input to its end at once. Throws Error where the decoder does, and for a full temporary folder.
  // The decoder must live as long as this.
  Features(Decoder& decoder, int bins)
      : Features([&decoder](Pcm& out) { return decoder.read(out); }, decoder.seekable(), bins) {}

  // The same from any source of stretches that join; false is the end.
  Features(std::function<bool(Pcm&)> read, bool read_ahead, int bins);
  ~Features();

  // How many of the `wanted` frames from `first` on there are; fewer only where the sound ends. Reads a pipe as needed,
  // and gives up what lies more than ten minutes before `first`.
  int available(int64_t first, int wanted);

  // The window of n_frames from first on; they must be available and not before an earlier window's first frame.
  void window(int64_t first, int n_frames, Mel& out);

  // The same of a window further on, while those before it may still be asked for.
  void look_ahead(int64_t first, int n_frames, Mel& out);

  // The same without the clamp.
  void unclamped(int64_t first, int n_frames, Mel& out);

  // Samples [first, first + n) of the sound; zeros past its end. From a pipe, not from more than 30 s before the latest
  // window's first frame; it is read as far as needed, and what is read beyond the frames asked for stays in memory.
  void sound(int64_t first, int64_t n, float* out);

  bool whole() const;          // the end has been seen: n_samples is the length
  int64_t n_samples() const;   // read so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sotto
