// Which stretches of the sound are decoded, and in what order: one window of up to 30 s after the other, through the
// clips that were asked for. Positions are mel frames, 10 ms each. Source: openai/whisper transcribe.py.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sotto {

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// Frames [first, last) of the sound.
struct Clip {
  int64_t first = 0;
  int64_t last = kToTheEnd;
  bool operator==(const Clip&) const = default;
};

// Clips from times start, end, start, end ... in seconds; without a last end it is that of the sound, without any time
// it is the whole sound. Throws Error for times that are negative, no numbers, or go back.
std::vector<Clip> clips_from_times(std::span<const double> times_s);

struct Window {
  int64_t seek = 0;  // its first frame
  int n_frames = 0;  // up to 3000
  bool operator==(const Window&) const = default;
};

class Windows {
 public:
  // available(first, wanted) tells how many of the wanted frames from `first` on the sound has (Features::available).
  Windows(std::vector<Clip> clips, std::function<int(int64_t, int)> available);

  // The window at the current position; none when the last clip, or the sound, has come to its end.
  std::optional<Window> next();

  // Goes on that many frames behind the beginning of the window that next() gave last.
  void advance(int64_t frames) { seek_ += frames; }

 private:
  std::vector<Clip> clips_;
  std::function<int(int64_t, int)> available_;
  size_t clip_ = 0;
  int64_t seek_;
};

}  // namespace sotto
