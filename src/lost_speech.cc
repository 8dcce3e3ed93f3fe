#include "src/lost_speech.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/dims.h"

namespace sotto {
namespace {

constexpr int64_t kWorthIt = kSampleRate;         // samples of speech; less is a breath, a laugh, or the edge of a word
constexpr int64_t kTolerance = kSampleRate / 4;   // by which times of text may be off

int64_t sample_at(double time_s) { return std::llrint(time_s * kSampleRate); }

// What text covers, in order.
std::vector<Speech> covered_by(std::span<const Segment> segments) {
  std::vector<Speech> covered;
  const auto add = [&](double start_s, double end_s) {
    covered.push_back({sample_at(start_s) - kTolerance, sample_at(end_s) + kTolerance});
  };
  for (const Segment& segment : segments) {
    for (const Word& word : segment.words) add(word.start_s, word.end_s);
    if (segment.words.empty() && !segment.text.empty()) add(segment.start_s, segment.end_s);
  }
  return covered;
}

}  // namespace

std::vector<Speech> lost_speech(std::span<const Speech> heard, std::span<const Segment> segments) {
  std::vector<Speech> covered = covered_by(segments);
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  covered.push_back({kEnd, kEnd});
  std::vector<Speech> lost;
  int64_t free_from = std::numeric_limits<int64_t>::min();
  for (const Speech& text : covered) {
    Speech all{kEnd, 0};
    int64_t spoken = 0;
    for (const Speech& speech : heard) {
      const int64_t start = std::max(speech.start, free_from), end = std::min(speech.end, text.start);
      if (start >= end) continue;
      spoken += end - start;
      all = {std::min(all.start, start), end};
    }
    if (spoken >= kWorthIt) lost.push_back({all.start, text.start == kEnd ? all.end : text.start});
    free_from = std::max(free_from, text.end);
  }
  return lost;
}

}  // namespace sotto
