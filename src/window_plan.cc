#include "src/window_plan.h"

#include <algorithm>
#include <cmath>

#include "models/dims.h"

namespace sotto {
namespace {

constexpr int kFramesPerSecond = kSampleRate / kMelHop;
constexpr int64_t kAhead = 2 * kFramesPerSecond;        // heard behind a window's latest end, to know that pause's length
constexpr int64_t kLongPause = 5 * kSampleRate;         // samples; ends a window wherever it is
constexpr int64_t kWorthSkipping = 3 * kSampleRate;     // of silence around a window; less is kept: soft words hide in it
constexpr int64_t kEarliestCut = 15 * kFramesPerSecond; // of speech without a pause
constexpr int64_t kHalfOverlap = kFramesPerSecond;      // that the windows before and after such a cut share, twice this
constexpr int kQuiet = 10;                              // frames over which a place is looked at for how quiet it is

int64_t first_sample(int64_t frame) { return frame * kMelHop; }
int64_t frame_before(int64_t sample) { return sample / kMelHop; }
int64_t frame_behind(int64_t sample) { return (sample + kMelHop - 1) / kMelHop; }

}  // namespace

WindowPlan::WindowPlan(std::vector<Clip> clips, Features& features, Voice& voice, int pad_ms)
    : clips_(std::move(clips)),
      features_(features),
      voice_(voice),
      pad_(int64_t{pad_ms} * kSampleRate / 1000),
      from_(clips_.front().first) {}

std::optional<PlannedWindow> WindowPlan::next() {
  while (clip_ < clips_.size()) {
    while (const auto start = find_speech()) {
      PlannedWindow planned = cut(*start);
      if (voice_.hears_voice(features_, planned.window)) return planned;
    }
    if (++clip_ < clips_.size()) from_ = clips_[clip_].first;
  }
  return std::nullopt;
}

// Listens up to a frame, or to the end of the clip if that comes before it.
WindowPlan::Heard WindowPlan::hear(int64_t end) {
  const int64_t wanted = std::min(end, clip().last) - from_;
  const int64_t there = wanted > 0 ? features_.available(from_, static_cast<int>(wanted)) : 0;
  const Heard heard{from_ + there, there < wanted || from_ + there >= clip().last};
  voice_.hear(features_, from_, heard.end);
  if (heard.all) voice_.finish(first_sample(heard.end));
  return heard;
}

// The frame at which the next window begins.
std::optional<int64_t> WindowPlan::find_speech() {
  while (true) {
    const Heard heard = hear(from_ + kMelFrames);
    if (heard.end <= from_) return std::nullopt;
    if (!voice_.active()) return from_;
    const std::vector<Speech> speech = voice_.speech_from(first_sample(from_));
    if (!speech.empty()) {
      const int64_t first = speech.front().start;
      return first - first_sample(from_) <= kWorthSkipping ? from_ : std::max(from_, frame_before(first - pad_));
    }
    if (heard.all) return std::nullopt;
    from_ = heard.end;
  }
}

// The window that begins at a frame, behind which the next one will be looked for.
PlannedWindow WindowPlan::cut(int64_t start) {
  from_ = start;
  const int64_t latest = start + kMelFrames;
  const Heard heard = hear(latest + kAhead);
  std::vector<Speech> speech = voice_.speech_from(first_sample(start));
  if (!voice_.active()) speech = {{first_sample(start), first_sample(heard.end)}};

  int64_t end;
  bool goes_on = false;
  if (heard.all && heard.end <= latest) {
    end = heard.end;
    if (!speech.empty() && first_sample(end) - speech.back().end > kWorthSkipping)
      end = std::min(end, frame_behind(speech.back().end + pad_));
    from_ = heard.end;
  } else if (const auto pause = pause_to_cut_at(speech, start, heard)) {
    from_ = end = *pause;
  } else {
    const int64_t cut = quietest_frame(start + kEarliestCut, latest - kHalfOverlap);
    end = cut + kHalfOverlap;
    from_ = cut - kHalfOverlap;
    goes_on = true;
  }
  const int64_t last_sample = first_sample(end);
  std::erase_if(speech, [&](const Speech& one) { return one.start >= last_sample; });
  for (Speech& one : speech) one = {std::max(one.start, first_sample(start)), std::min(one.end, last_sample)};
  return {{start, static_cast<int>(end - start)}, std::move(speech), goes_on};
}

// The frame at which a window ends in a pause: at the first that is long, else where a pause is long and comes late, as
// that leaves more of the sentences whole and fewer windows.
std::optional<int64_t> WindowPlan::pause_to_cut_at(const std::vector<Speech>& speech, int64_t start,
                                                   const Heard& heard) const {
  const int64_t latest = first_sample(start + kMelFrames);
  std::optional<int64_t> best;
  double best_score = 0;
  for (size_t i = 0; i < speech.size() && speech[i].end < latest; ++i) {
    const int64_t pause_end = i + 1 < speech.size() ? speech[i + 1].start : first_sample(heard.end);
    const int64_t pause = pause_end - speech[i].end;
    const int64_t cut = std::min(frame_behind(speech[i].end + std::min(pad_, pause / 2)), start + kMelFrames);
    if (pause >= kLongPause) return cut;
    const double seconds_in = static_cast<double>(cut - start) / kFramesPerSecond;
    const double score = std::min(static_cast<double>(pause) / kSampleRate, 1.0) + seconds_in / 15;
    if (score > best_score) {
      best_score = score;
      best = cut;
    }
  }
  return best;
}

// Where the sound has least power, over a tenth of a second.
int64_t WindowPlan::quietest_frame(int64_t first, int64_t end) {
  std::vector<float> sound(first_sample(end - first));
  features_.sound(first_sample(first), std::ssize(sound), sound.data());
  std::vector<double> power(end - first);
  for (int64_t i = 0; i < std::ssize(sound); ++i) power[i / kMelHop] += sound[i] * sound[i];
  int64_t quietest = kQuiet / 2;
  double least = HUGE_VAL;
  for (int64_t i = 0; i + kQuiet <= end - first; ++i) {
    double sum = 0;
    for (int j = 0; j < kQuiet; ++j) sum += power[i + j];
    if (sum >= least) continue;
    least = sum;
    quietest = i + kQuiet / 2;
  }
  return first + quietest;
}

}  // namespace sotto
