#include "src/lost_speech.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sotto {
namespace {

constexpr int64_t kTolerance = kSampleRate / 4;
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// What text covers, in order.
std::vector<Speech> covered_by(std::span<const Segment> segments) {
  std::vector<Speech> covered;
  const auto add = [&](double start_s, double end_s) {
    covered.push_back({std::llrint(start_s * kSampleRate) - kTolerance, std::llrint(end_s * kSampleRate) + kTolerance});
  };
  for (const Segment& segment : segments) {
    for (const Word& word : segment.words) add(word.start_s, word.end_s);
    if (segment.words.empty() && !segment.text.empty()) add(segment.start_s, segment.end_s);
  }
  std::ranges::sort(covered, {}, &Speech::start);
  return covered;
}

}  // namespace

std::vector<Speech> lost_speech(std::span<const Speech> heard, std::span<const Segment> segments, int64_t least) {
  std::vector<Speech> covered = covered_by(segments);
  covered.push_back({kEnd, kEnd});
  std::vector<Speech> lost;
  int64_t free_from = -kTolerance;
  size_t next = 0;  // the first stretch that isn't over at free_from
  for (const Speech& text : covered) {
    Speech all{kEnd, 0};
    int64_t spoken = 0;
    for (size_t i = next; i < heard.size() && heard[i].start < text.start; ++i) {
      const int64_t start = std::max(heard[i].start, free_from), end = std::min(heard[i].end, text.start);
      if (start >= end) continue;
      spoken += end - start;
      all = {std::min(all.start, start), end};
    }
    if (spoken >= least) lost.push_back(all);
    free_from = std::max(free_from, text.end);
    while (next < heard.size() && heard[next].end <= free_from) ++next;
  }
  return lost;
}

Window window_around(const Speech& lost, const Window& whole, std::span<const Segment> segments, int pad_ms) {
  const int64_t pad = int64_t{pad_ms} * kSampleRate / 1000;
  int64_t first = lost.start - pad, end = lost.end + pad;
  for (const Speech& text : covered_by(segments)) {
    if (text.end <= lost.start) first = std::max(first, text.end - kTolerance);
    if (text.start >= lost.end) end = std::min(end, text.start + kTolerance);
  }
  first = std::max(whole.seek, first / kMelHop);
  end = std::min(whole.seek + whole.n_frames, (end + kMelHop - 1) / kMelHop);
  return {first, static_cast<int>(end - first)};
}

}  // namespace sotto
