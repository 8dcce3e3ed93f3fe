#include "src/lost_speech.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr int64_t kTolerance = kSampleRate / 4;
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
constexpr double kLongestLetter_s = 0.25;   // a word of n letters lasts so many of these
constexpr double kLongestPause_s = 0.5;     // ... and this at most
constexpr int64_t kEnoughSpeech = 2 * kSampleRate;  // to tell how much is said in it
constexpr double kFewestTokens = 3.5;       // a second of speech: nine of ten sentences have more, in any language
constexpr double kMostLetters = 30;         // a second: nobody says more

int64_t sample_at(double time_s) { return std::llrint(time_s * kSampleRate); }

int64_t n_letters(std::string_view text) {
  int64_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(first_character(text).length);
  return n;
}

// What text covers, in order.
std::vector<Speech> covered_by(std::span<const Segment> segments) {
  std::vector<Speech> covered;
  const auto add = [&](double start_s, double end_s) {
    covered.push_back({sample_at(start_s) - kTolerance, sample_at(end_s) + kTolerance});
  };
  for (const Segment& segment : segments) {
    for (const Word& word : segment.words) {
      const double longest_s = kLongestPause_s + kLongestLetter_s * static_cast<double>(n_letters(strip(word.text)));
      add(word.start_s, std::min(word.end_s, word.start_s + longest_s));
      add(std::max(word.start_s, word.end_s - longest_s), word.end_s);
    }
    if (segment.words.empty() && !segment.text.empty()) add(segment.start_s, segment.end_s);
  }
  std::ranges::sort(covered, {}, &Speech::start);
  return covered;
}

// The segment from a word on, which the segment itself then lacks.
Segment split_before(Segment& segment, size_t word, const Tokenizer& tokenizer) {
  Segment rest = segment;
  const auto first = segment.words.begin() + static_cast<std::ptrdiff_t>(word);
  rest.words.assign(first, segment.words.end());
  segment.words.erase(first, segment.words.end());
  segment.text.clear();
  for (const Word& one : segment.words) segment.text += one.text;
  rest.text.erase(0, segment.text.size());
  std::vector<int> tokens;
  for (const int token : rest.tokens) {
    if (token < tokenizer.special().eot && tokenizer.decode(tokens).size() >= segment.text.size()) break;
    tokens.push_back(token);
  }
  rest.tokens.erase(rest.tokens.begin(), rest.tokens.begin() + std::ssize(tokens));
  segment.tokens = std::move(tokens);
  segment.end_s = segment.words.back().end_s;
  rest.start_s = rest.words.front().start_s;
  return rest;
}

}  // namespace

bool is_thin(const Segment& segment, std::span<const Speech> heard, int eot) {
  const int64_t start = sample_at(segment.start_s), end = sample_at(segment.end_s);
  int64_t spoken = 0;
  for (const Speech& one : heard) spoken += std::max<int64_t>(0, std::min(one.end, end) - std::max(one.start, start));
  const auto n_text = std::ranges::count_if(segment.tokens, [eot](int token) { return token < eot; });
  return spoken >= kEnoughSpeech && static_cast<double>(n_text) * kSampleRate < kFewestTokens * static_cast<double>(spoken);
}

void part_at_lost_speech(std::vector<Segment>& segments, std::span<const Speech> heard, const Tokenizer& tokenizer) {
  for (const Speech& lost : lost_speech(heard, segments, kShortestGap))
    for (size_t i = 0; i < segments.size(); ++i) {
      std::vector<Word>& words = segments[i].words;
      const auto after = std::ranges::find_if(words, [&](const Word& word) {
        return sample_at(word.start_s) + kTolerance > lost.start;
      });
      if (after == words.begin() || after == words.end()) continue;
      Word& before = *std::prev(after);
      before.end_s = std::min(before.end_s, std::max(before.start_s, static_cast<double>(lost.start) / kSampleRate));
      Segment rest = split_before(segments[i], static_cast<size_t>(after - words.begin()), tokenizer);
      segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(rest));
      break;
    }
}

bool is_too_fast(std::string_view text, int64_t n_samples, int64_t more) {
  return static_cast<double>(n_letters(strip(text))) * kSampleRate > kMostLetters * static_cast<double>(n_samples + more);
}

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
