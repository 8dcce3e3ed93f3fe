#include "src/windows.h"

#include <algorithm>
#include <cmath>

#include "models/dims.h"
#include "models/error.h"

namespace sotto {

std::vector<Clip> clips_from_times(std::span<const double> times_s) {
  constexpr double kLongest = 1e9;  // seconds; keeps the arithmetic on frames far from its limits
  std::vector<int64_t> frames;
  for (const double time : times_s) {
    if (!(time >= 0 && time <= kLongest)) throw Error("clip timestamps must be times in seconds from 0 on");
    frames.push_back(std::llrint(time * (kSampleRate / kMelHop)));  // half to even, as Python's round
  }
  if (frames.empty()) frames.push_back(0);
  if (!std::is_sorted(frames.begin(), frames.end()))
    throw Error("clip timestamps must not go back; give start,end,start,end,... in the order of the sound");
  if (frames.size() % 2) frames.push_back(kToTheEnd);

  std::vector<Clip> clips;
  for (size_t i = 0; i < frames.size(); i += 2) clips.push_back({frames[i], frames[i + 1]});
  return clips;
}

Windows::Windows(std::vector<Clip> clips, std::function<int(int64_t, int)> available)
    : clips_(std::move(clips)), available_(std::move(available)) {
  CHECK_INVARIANT(!clips_.empty());
  seek_ = clips_.front().first;
}

std::optional<Window> Windows::next() {
  while (clip_ < clips_.size()) {
    if (seek_ < clips_[clip_].last) {
      const int wanted = static_cast<int>(std::min<int64_t>(kMelFrames, clips_[clip_].last - seek_));
      if (const int n_frames = available_(seek_, wanted); n_frames > 0) return Window{seek_, n_frames};
    }
    if (++clip_ < clips_.size()) seek_ = clips_[clip_].first;
  }
  return std::nullopt;
}

}  // namespace sotto
