#include "src/align/long_gap.h"

#include <algorithm>

#include "src/job.h"

namespace sotto {
namespace {

constexpr double kEarliestCut = 0.4;  // of a part's greatest length: silences before it don't end it

}  // namespace

std::vector<GapPart> parts_of_gap(double from_s, double until_s, std::span<const Speech> speech, double most_s) {
  std::vector<GapPart> stretches;
  for (const Speech& one : speech) {
    double start_s = std::max(from_s, seconds_of(one.start));
    const double end_s = std::min(until_s, seconds_of(one.end));
    for (; end_s - start_s > most_s; start_s += most_s) stretches.push_back({start_s, start_s + most_s, most_s});
    if (end_s > start_s) stretches.push_back({start_s, end_s, end_s - start_s});
  }
  std::vector<GapPart> parts;
  for (size_t first = 0; first < stretches.size();) {
    const double start_s = stretches[first].start_s;
    size_t best = first, last = first;
    double longest_s = -1;
    for (; last < stretches.size() && stretches[last].end_s - start_s <= most_s; ++last) {
      if (stretches[last].end_s - start_s < kEarliestCut * most_s) continue;
      const double silence_s = last + 1 < stretches.size() ? stretches[last + 1].start_s - stretches[last].end_s : 0;
      if (silence_s >= longest_s) longest_s = silence_s, best = last;
    }
    if (last == stretches.size() || longest_s < 0) best = last - 1;
    GapPart& part = parts.emplace_back(GapPart{start_s, stretches[best].end_s, 0});
    for (; first <= best; ++first) part.voiced_s += stretches[first].voiced_s;
  }
  return parts;
}

std::vector<int> expected_cuts(std::span<const GapPart> parts, std::span<const int> lengths) {
  double voiced_s = 0, all_s = 0;
  int64_t characters = 0, all = 0;
  for (const GapPart& part : parts) all_s += part.voiced_s;
  for (const int length : lengths) all += length;
  std::vector<int> cuts = {0};
  size_t at = 0;
  for (const GapPart& part : parts) {
    voiced_s += part.voiced_s;
    const double until = voiced_s / all_s * static_cast<double>(all);
    while (at < lengths.size() && static_cast<double>(characters) + lengths[at] / 2.0 < until)
      characters += lengths[at++];
    cuts.push_back(static_cast<int>(at));
  }
  cuts.back() = static_cast<int>(lengths.size());
  return cuts;
}

}  // namespace sotto
