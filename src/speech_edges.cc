#include "src/speech_edges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/dims.h"

namespace sotto {
namespace {

// How far outside of the speech that was heard a word may begin or end, in seconds: the network knows a voice only after
// its first sound, and soft ends don't count for it.
constexpr double kEdge = 0.1;

using Times = std::pair<double, double>;  // start and end, seconds

double seconds(int64_t samples) { return static_cast<double>(samples) / kSampleRate; }

// The part of a word that lies in the speech it has most in common with; none if it has nothing in common with any.
std::optional<Times> within_speech(const Times& word, std::span<const Speech> speech) {
  std::optional<Times> best;
  for (const Speech& one : speech) {
    const double start = std::max(word.first, seconds(one.start) - kEdge);
    const double end = std::min(word.second, seconds(one.end) + kEdge);
    if (end > start && (!best || end - start > best->second - best->first)) best = {start, end};
  }
  return best;
}

}  // namespace

void snap_to_speech(std::vector<Segment>& segments, std::span<const Speech> speech) {
  for (Segment& segment : segments) {
    for (Word& word : segment.words)
      if (const auto times = within_speech({word.start_s, word.end_s}, speech))
        std::tie(word.start_s, word.end_s) = *times;
    if (!segment.words.empty()) {
      segment.start_s = segment.words.front().start_s;
      segment.end_s = std::max(segment.start_s, segment.words.back().end_s);
      continue;
    }
    const Times all{segment.start_s, segment.end_s};
    for (const Speech& one : speech) {  // a segment may hold several
      const double start = seconds(one.start) - kEdge, end = seconds(one.end) + kEdge;
      if (end <= all.first || start >= all.second) continue;
      segment.start_s = std::max(all.first, start);
      break;
    }
    for (size_t i = speech.size(); i-- > 0;) {
      const double start = seconds(speech[i].start) - kEdge, end = seconds(speech[i].end) + kEdge;
      if (end <= all.first || start >= all.second) continue;
      segment.end_s = std::max(segment.start_s, std::min(all.second, end));
      break;
    }
  }
}

}  // namespace sotto
