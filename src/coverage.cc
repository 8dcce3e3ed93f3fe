#include "src/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "models/dims.h"
#include "src/lost_speech.h"

namespace sotto {
namespace {

constexpr int64_t kLongPause = kSampleRate;

double seconds(int64_t samples) { return static_cast<double>(samples) / kSampleRate; }

// Stretches of one fate, in order, apart from each other.
struct Layer {
  Fate fate;
  std::vector<Speech> stretches;

  bool covers(int64_t sample) const {
    const auto behind = std::ranges::upper_bound(stretches, sample, {}, &Speech::start);
    return behind != stretches.begin() && std::prev(behind)->end > sample;
  }
};

// In order, and joined where they meet.
std::vector<Speech> tidy(std::vector<Speech> stretches) {
  std::ranges::sort(stretches, {}, &Speech::start);
  std::vector<Speech> joined;
  for (const Speech& one : stretches) {
    if (one.end <= one.start) continue;
    if (!joined.empty() && one.start <= joined.back().end)
      joined.back().end = std::max(joined.back().end, one.end);
    else
      joined.push_back(one);
  }
  return joined;
}

int64_t clip_sample(int64_t frame, int64_t n_samples) {
  return frame >= n_samples / kMelHop + 1 ? n_samples : std::min(frame * kMelHop, n_samples);
}

int64_t shared(const Speech& a, const Speech& b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.start, b.start));
}

// Speech without text, in runs without a long pause.
std::vector<Speech> gaps(const std::vector<Speech>& speech, std::span<const Segment> segments) {
  std::vector<Speech> runs;
  for (const Speech& lost : lost_speech(speech, segments, kShortestGap))
    for (const Speech& one : speech) {
      if (shared(one, lost) == 0) continue;
      const Speech part{std::max(one.start, lost.start), std::min(one.end, lost.end)};
      if (!runs.empty() && part.start - runs.back().end < kLongPause)
        runs.back().end = part.end;
      else
        runs.push_back(part);
    }
  std::erase_if(runs, [](const Speech& run) { return run.end - run.start < kShortestGap; });
  return runs;
}

// What lies outside of clips and behind what was reached.
std::vector<Speech> not_done(std::span<const Clip> clips, int64_t reached, int64_t n_samples) {
  std::vector<Speech> skipped;
  int64_t from = 0;
  for (const Clip& clip : clips) {
    skipped.push_back({from, clip_sample(clip.first, n_samples)});
    from = std::max(from, clip_sample(clip.last, n_samples));
  }
  skipped.push_back({from, n_samples});
  skipped.push_back({clip_sample(reached, n_samples), n_samples});
  return tidy(std::move(skipped));
}

bool doubtful(const Segment& segment, const ThresholdOptions& thresholds) {
  return (thresholds.log_prob && segment.avg_log_prob < *thresholds.log_prob) ||
         (thresholds.compression_ratio && segment.compression_ratio > *thresholds.compression_ratio);
}

std::vector<Speech> text(const Transcript& transcript, const ThresholdOptions& thresholds, bool wanted_doubtful) {
  std::vector<Speech> stretches;
  for (const Segment& segment : transcript.segments)
    if (!segment.text.empty() && doubtful(segment, thresholds) == wanted_doubtful)
      stretches.push_back({std::llrint(segment.start_s * kSampleRate), std::llrint(segment.end_s * kSampleRate)});
  return tidy(std::move(stretches));
}

}  // namespace

Coverage coverage_of(const Transcript& transcript, std::span<const Clip> clips, int64_t reached,
                     const std::vector<Speech>* speech, const ThresholdOptions& thresholds) {
  const int64_t n_samples = std::llrint(transcript.duration_s * kSampleRate);
  std::array<Layer, 4> layers = {{{Fate::skipped, not_done(clips, reached, n_samples)},  // the first that covers counts
                                  {Fate::transcribed, text(transcript, thresholds, false)},
                                  {Fate::low_confidence, text(transcript, thresholds, true)},
                                  {Fate::failed, {}}}};
  Coverage coverage;
  if (speech) {
    int64_t spoken = 0, lost = 0;
    for (const Speech& one : *speech)
      if (!layers[0].covers(one.start)) spoken += one.end - one.start;
    for (const Speech& gap : gaps(*speech, transcript.segments)) {
      if (layers[0].covers(gap.start)) continue;
      layers[3].stretches.push_back(gap);
      ++coverage.n_gaps;
      for (const Speech& one : *speech) lost += shared(one, gap);
    }
    coverage.heard_s = seconds(spoken);
    coverage.lost_s = seconds(std::min(lost, spoken));
  }

  std::vector<int64_t> edges = {0, n_samples};
  for (const Layer& layer : layers)
    for (const Speech& stretch : layer.stretches)
      for (const int64_t edge : {stretch.start, stretch.end}) edges.push_back(std::clamp<int64_t>(edge, 0, n_samples));
  std::ranges::sort(edges);
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1]) continue;
    const auto layer = std::ranges::find_if(layers, [&](const Layer& one) { return one.covers(edges[i]); });
    const Fate fate = layer == layers.end() ? Fate::silence : layer->fate;
    if (!coverage.stretches.empty() && coverage.stretches.back().fate == fate)
      coverage.stretches.back().end_s = seconds(edges[i + 1]);
    else
      coverage.stretches.push_back({seconds(edges[i]), seconds(edges[i + 1]), fate});
  }
  return coverage;
}

Coverage merged(const Coverage& a, const Coverage& b) {
  constexpr std::array<int, 5> kWeight = {2, 1, 0, 3, 4};  // by Fate
  Coverage both{{}, a.heard_s + b.heard_s, a.lost_s + b.lost_s, a.n_gaps + b.n_gaps};
  size_t i = 0, j = 0;
  double at_s = 0;
  while (i < a.stretches.size() || j < b.stretches.size()) {
    const auto& one = i < a.stretches.size() ? a.stretches[i] : b.stretches[j];
    const auto& other = j < b.stretches.size() ? b.stretches[j] : one;
    const auto weight = [&](Fate fate) { return kWeight[static_cast<size_t>(fate)]; };
    const Fate fate = weight(one.fate) < weight(other.fate) ? other.fate : one.fate;
    const double end_s = std::min(one.end_s, other.end_s);
    if (!both.stretches.empty() && both.stretches.back().fate == fate)
      both.stretches.back().end_s = end_s;
    else
      both.stretches.push_back({at_s, end_s, fate});
    at_s = end_s;
    if (i < a.stretches.size() && a.stretches[i].end_s <= at_s) ++i;
    if (j < b.stretches.size() && b.stretches[j].end_s <= at_s) ++j;
  }
  return both;
}

void shift(Coverage& coverage, double by_s) {
  for (Coverage::Stretch& stretch : coverage.stretches) {
    stretch.start_s += by_s;
    stretch.end_s += by_s;
  }
  coverage.stretches.insert(coverage.stretches.begin(), {0, by_s, Fate::skipped});
}

std::string_view name(Fate fate) {
  constexpr std::array<std::string_view, 5> kNames = {"transcribed", "silence", "skipped", "low_confidence", "failed"};
  return kNames[static_cast<size_t>(fate)];
}

std::string sentence(const Coverage& coverage) {
  if (coverage.heard_s == 0) return "";
  char text[100];
  if (coverage.n_gaps == 0) return "100 % of speech transcribed";
  // Rounded down: all of it is said of all of it alone.
  std::snprintf(text, sizeof text, "%.1f %% of speech transcribed; %d gap%s, see --coverage",
                std::floor((1 - coverage.lost_s / coverage.heard_s) * 1000) / 10, coverage.n_gaps,
                coverage.n_gaps == 1 ? "" : "s");
  return text;
}

}  // namespace sotto
