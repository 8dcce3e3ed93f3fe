#include "audio/timeline.h"

#include <algorithm>
#include <cmath>

namespace sotto {

namespace {

int64_t rescale(int64_t value, int from, int to) {
  const int64_t whole = value / from, rest = value % from;
  return whole * to + rest * to / from;
}

}  // namespace

void Timeline::set_rate(int rate) {
  if (rate == rate_) return;
  if (rate_ > 0) {
    clock_ = rescale(clock_, rate_, rate);
    shift_ = rescale(shift_, rate_, rate);
    drift_ = rescale(drift_, rate_, rate);
  }
  rate_ = rate;
}

bool Timeline::believable(double from_s, double gap_s) const {
  if (gap_s <= kMaxGapS) return true;
  return gap_s <= kMaxKnownGapS && duration_s_ && from_s + gap_s <= *duration_s_ + 1.0;
}

Timeline::Placement Timeline::place(int rate, int64_t n, std::optional<int64_t> stamp, std::optional<int64_t> next) {
  set_rate(rate);
  Placement placement;
  const double tolerance_s = dropping_ ? 0.0 : started_ ? kToleranceS : kStartToleranceS;
  const int64_t drift = stamp ? *stamp + shift_ - clock_ : 0;
  const bool confirmed = stamp && (!next || std::abs(*next - (*stamp + n)) <= std::llround(kToleranceS * rate));
  if (std::abs(drift) > std::llround(tolerance_s * rate) && confirmed) {
    const double jump_s = static_cast<double>(drift) / rate;
    if (drift > 0 && believable(now_s(), jump_s)) {
      placement.silence = drift;
    } else if (drift < 0 && -jump_s <= kMaxOverlapS && started_) {
      placement.drop = std::min(n, -drift);
    } else {
      placement.broken_jump_s = jump_s;
      shift_ -= drift;
    }
  }
  if (stamp) drift_ = *stamp + shift_ - clock_ - placement.silence + placement.drop;
  dropping_ = placement.drop == n;
  clock_ += placement.silence + n - placement.drop;
  started_ = true;
  return placement;
}

}  // namespace sotto
