#include "src/segments.h"

#include <algorithm>

#include "models/dims.h"
#include "models/utf8.h"

namespace sotto {
namespace {

constexpr int kFramesPerTimestamp = kMelFrames / kAudioContext;                               // 2
constexpr double kSecondsPerTimestamp = kFramesPerTimestamp * kMelHop / double(kSampleRate);  // 0.02

Segment make_segment(const Window& window, double start_s, double end_s, std::span<const int> tokens,
                     const Tokenizer& tokenizer) {
  std::vector<int> text;
  for (const int token : tokens)
    if (token < tokenizer.special().eot) text.push_back(token);
  Segment segment;
  segment.seek = window.seek;
  segment.start_s = start_s;
  segment.end_s = end_s;
  segment.text = tokenizer.decode(text);
  segment.tokens.assign(tokens.begin(), tokens.end());
  return segment;
}

}  // namespace

Cut cut_into_segments(const Window& window, std::span<const int> tokens, const Tokenizer& tokenizer) {
  const int zero = tokenizer.special().first_timestamp;
  const auto is_timestamp = [&](size_t i) { return tokens[i] >= zero; };
  const size_t n = tokens.size();
  const bool single_ending = n >= 2 && is_timestamp(n - 1) && !is_timestamp(n - 2);
  const double offset_s = window.seek * kMelHop / double(kSampleRate);

  std::vector<size_t> ends;  // of the segments, in tokens
  for (size_t i = 1; i < n; ++i)
    if (is_timestamp(i - 1) && is_timestamp(i)) ends.push_back(i);

  Cut cut{{}, window.n_frames, single_ending};
  if (ends.empty()) {
    const auto last = std::find_if(tokens.rbegin(), tokens.rend(), [&](int token) { return token >= zero; });
    double duration_s = window.n_frames * kMelHop / double(kSampleRate);
    if (last != tokens.rend() && *last != zero) duration_s = (*last - zero) * kSecondsPerTimestamp;
    cut.segments.push_back(make_segment(window, offset_s, offset_s + duration_s, tokens, tokenizer));
    return cut;
  }

  if (single_ending) ends.push_back(n);
  size_t begin = 0;
  for (const size_t end : ends) {
    const double start_s = offset_s + (tokens[begin] - zero) * kSecondsPerTimestamp;
    const double end_s = offset_s + (tokens[end - 1] - zero) * kSecondsPerTimestamp;
    cut.segments.push_back(make_segment(window, start_s, end_s, tokens.subspan(begin, end - begin), tokenizer));
    begin = end;
  }
  if (!single_ending) cut.advance = (tokens[begin - 1] - zero) * int64_t{kFramesPerTimestamp};
  return cut;
}

Cut cut_whole_window(const Window& window, std::span<const int> tokens, bool ended, const Tokenizer& tokenizer) {
  Cut cut = cut_into_segments(window, tokens, tokenizer);
  size_t used = 0;
  for (const Segment& segment : cut.segments) used += segment.tokens.size();
  const std::span<const int> rest = tokens.subspan(used);
  if (rest.empty() || !ended) return cut;
  const double offset_s = window.seek * kMelHop / double(kSampleRate);
  const double start_s = offset_s + (rest.front() - tokenizer.special().first_timestamp) * kSecondsPerTimestamp;
  const double end_s = offset_s + window.n_frames * kMelHop / double(kSampleRate);
  cut.segments.push_back(make_segment(window, start_s, std::max(start_s, end_s), rest, tokenizer));
  cut.advance = window.n_frames;
  return cut;
}

void clear_blank_segments(std::vector<Segment>& segments) {
  for (Segment& segment : segments) {
    if (segment.start_s != segment.end_s && !strip(segment.text).empty()) continue;
    segment.text.clear();
    segment.tokens.clear();
    segment.words.clear();
  }
}

void clamp_times(std::vector<Segment>& segments, double first_s, double last_s) {
  for (Segment& segment : segments) {
    segment.start_s = std::clamp(segment.start_s, first_s, last_s);
    segment.end_s = std::clamp(segment.end_s, segment.start_s, last_s);
    for (Word& word : segment.words) {
      word.start_s = std::clamp(word.start_s, first_s, last_s);
      word.end_s = std::clamp(word.end_s, word.start_s, last_s);
    }
  }
}

}  // namespace sotto
