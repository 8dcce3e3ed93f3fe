// The sound that passes look at: the last up to 30 s, as samples and as a log-mel window. Positions are samples of the
// stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "audio/mel.h"

namespace sotto {

class LiveWindow {
 public:
  explicit LiveWindow(int bins) : bins_(bins) {}

  void push(std::span<const float> samples);
  void begin_at(int64_t sample);  // drops what is before it; of no effect before first()

  int64_t first() const { return first_; }
  int64_t end() const { return first_ + std::ssize(sound_); }
  double length_s() const;

  // The frames that the sound fills, clamped by their own maximum; their number.
  int mel(Mel& out);

 private:
  const int bins_;
  int64_t first_ = 0;
  std::vector<float> sound_;
  std::unique_ptr<LogMel> mel_;  // of the first n_mel_ samples; null: of none
  int64_t n_mel_ = 0;
};

}  // namespace sotto
