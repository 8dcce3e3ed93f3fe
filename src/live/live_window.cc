#include "src/live/live_window.h"

#include <algorithm>

#include "models/error.h"

namespace sotto {

void LiveWindow::push(std::span<const float> samples) { sound_.insert(sound_.end(), samples.begin(), samples.end()); }

void LiveWindow::begin_at(int64_t sample) {
  if (sample <= first_) return;
  CHECK_INVARIANT(sample <= end());
  sound_.erase(sound_.begin(), sound_.begin() + (sample - first_));
  first_ = sample;
  mel_.reset();
  n_mel_ = 0;
}

double LiveWindow::length_s() const { return static_cast<double>(sound_.size()) / kSampleRate; }

int LiveWindow::mel(Mel& out) {
  if (!mel_) mel_ = std::make_unique<LogMel>(bins_);
  mel_->push(std::span(sound_).subspan(n_mel_));
  n_mel_ = std::ssize(sound_);
  const int n_frames = static_cast<int>(std::min<int64_t>(mel_->frames_ready(), kMelFrames));
  mel_->window(0, n_frames, mel_->maximum(), out);
  return n_frames;
}

}  // namespace sotto
