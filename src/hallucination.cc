#include "src/hallucination.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/dims.h"
#include "src/words.h"

namespace sotto {
namespace {

constexpr double kFramesPerSecond = kSampleRate / kMelHop;
constexpr std::string_view kPunctuation = "\"'“¿([{-\"'.。,，!！?？:：”)]}、";

double seconds(int64_t frames) { return frames * kMelHop / double(kSampleRate); }
int64_t frames(double time_s) { return std::llrint(time_s * kFramesPerSecond); }

// Words that are improbable, very short or very long: 0 for one like any other.
double strangeness(const Word& word) {
  const double duration_s = word.end_s - word.start_s;
  double score = word.probability < 0.15 ? 1 : 0;
  if (duration_s < 0.133) score += (0.133 - duration_s) * 15;
  if (duration_s > 2) score += duration_s - 2;
  return score;
}

// By its first 8 words.
bool looks_made_up(const Segment& segment) {
  double score = 0;
  int n = 0;
  for (const Word& word : segment.words) {
    if (kPunctuation.find(word.text) != std::string_view::npos) continue;
    score += strangeness(word);
    if (++n == 8) break;
  }
  return !segment.words.empty() && (score >= 3 || score + 0.01 >= n);
}

const Segment* first_with_words(std::span<const Segment> segments) {
  const auto found = std::ranges::find_if(segments, [](const Segment& segment) { return !segment.words.empty(); });
  return found == segments.end() ? nullptr : &*found;
}

}  // namespace

int64_t advance_by_words(const Window& window, const Cut& cut, std::optional<double> threshold_s) {
  const double end_s = last_word_end_s(cut.segments);
  if (cut.closed || cut.segments.empty() || end_s <= seconds(window.seek)) return cut.advance;
  if (threshold_s && seconds(window.seek + kMelFrames) - end_s <= *threshold_s) return window.n_frames;
  return std::max<int64_t>(1, frames(end_s) - window.seek);
}

std::optional<int64_t> leading_silence(const Window& window, std::span<const Segment> segments, double threshold_s) {
  const Segment* first = first_with_words(segments);
  if (!first || !looks_made_up(*first)) return std::nullopt;
  const double gap_s = first->start_s - seconds(window.seek);
  if (gap_s <= threshold_s || frames(gap_s) < 1) return std::nullopt;
  return frames(gap_s);
}

std::optional<int64_t> drop_made_up(const Window& window, std::vector<Segment>& segments, double threshold_s,
                                    double last_speech_s, int64_t sound_end) {
  const double begin_s = seconds(window.seek);
  const double longest_end_s = seconds(window.seek + kMelFrames);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    if (segment.words.empty()) continue;
    if (looks_made_up(segment)) {
      const Segment* next = first_with_words(std::span(segments).subspan(i + 1));
      const double next_s = next ? next->words[0].start_s : begin_s + seconds(window.n_frames);
      const bool silence_before = segment.start_s - last_speech_s > threshold_s || segment.start_s < threshold_s ||
                                  segment.start_s - begin_s < 2;
      const bool silence_after = next_s - segment.end_s > threshold_s || (next && looks_made_up(*next)) ||
                                 longest_end_s - segment.end_s < 2;
      if (silence_before && silence_after) {
        const bool near_the_end = seconds(sound_end) - segment.end_s < threshold_s;
        const int64_t seek = near_the_end ? sound_end : frames(std::max(begin_s + 1, segment.start_s));
        segments.resize(i);
        return seek - window.seek;
      }
    }
    last_speech_s = segment.end_s;
  }
  return std::nullopt;
}

}  // namespace sotto
