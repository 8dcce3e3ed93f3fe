// Where each decoded frame belongs on the container's clock: silence fills gaps, overlaps are dropped, and time stamps
// that can't be true are not followed.
#pragma once

#include <cstdint>
#include <optional>

namespace sotto {

// Counts in samples of the input's own rate. Stamps jitter (Matroska rounds to milliseconds, players tolerate it), so
// the clock follows the samples, and steps in only when a stamp disagrees by more than kTolerance; then exactly.
class Timeline {
 public:
  static constexpr double kStartToleranceS = 0.020;  // sound that starts later than this is preceded by silence
  static constexpr double kToleranceS = 0.040;       // about one frame of the usual codecs
  static constexpr double kMaxOverlapS = 1.0;        // a longer step back is a clock that was set anew
  static constexpr double kMaxGapS = 600.0;          // a longer gap is believed only within the container's duration
  static constexpr double kMaxKnownGapS = 86400.0;

  // The length the container claims, or nothing.
  explicit Timeline(std::optional<double> duration_s) : duration_s_(duration_s) {}

  struct Placement {
    int64_t silence = 0;      // zeros to put before the frame
    int64_t drop = 0;         // samples to leave out at the frame's start
    double broken_jump_s = 0; // not 0: the stamp jumped by this much and was not followed
  };

  // Places a frame of n samples at the given rate. stamp: its time since the container's start, if it has one, in
  // samples; next: that of the frame after it. A step is followed only if the next frame's stamp confirms it.
  Placement place(int rate, int64_t n, std::optional<int64_t> stamp, std::optional<int64_t> next);

  // Leaps to a frame of that stamp, which is to be placed next: where it would be if all before it had been placed.
  void leap(int rate, int64_t stamp) {
    set_rate(rate);
    clock_ = stamp + shift_ - drift_;
  }

  int64_t now() const { return clock_; }  // end of what was placed, in samples of the latest frame's rate
  double now_s() const { return rate_ > 0 ? static_cast<double>(clock_) / rate_ : 0.0; }

 private:
  void set_rate(int rate);
  bool believable(double from_s, double gap_s) const;

  std::optional<double> duration_s_;
  int rate_ = 0;
  int64_t clock_ = 0;  // end of what was placed, in samples at rate_
  int64_t drift_ = 0;  // by how much the latest stamp is ahead of the clock, which doesn't follow it
  int64_t shift_ = 0;  // added to stamps: what jumps that were not followed have taken out
  bool started_ = false;
  bool dropping_ = false;  // an overlap goes on: to be dropped to its very end
};

}  // namespace sotto
