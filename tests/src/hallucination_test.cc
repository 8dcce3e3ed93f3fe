#include "src/hallucination.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace sotto;

namespace {

constexpr double kThreshold_s = 2;
constexpr int64_t kFarAway = 1'000'000;

// Four words from start to end. Made up ones are improbable.
Segment segment(double start_s, double end_s, float probability = 0.9f) {
  Segment result{.start_s = start_s, .end_s = end_s, .text = " a b c d"};
  for (int i = 0; i < 4; ++i) {
    const double step_s = (end_s - start_s) / 4;
    result.words.push_back({start_s + i * step_s, start_s + (i + 1) * step_s, " word", probability});
  }
  result.words.back().end_s = end_s;
  return result;
}
constexpr float kMadeUp = 0.05f;

Cut cut(std::vector<Segment> segments, int64_t advance, bool closed) { return {std::move(segments), advance, closed}; }

}  // namespace

TEST_CASE("the next window begins at the end of the last word, unless nothing is spoken after it") {
  const Window window{1000, 3000};
  CHECK(advance_by_words(window, cut({segment(12, 15.34)}, 600, false), {}) == 534);
  CHECK(advance_by_words(window, cut({segment(12, 15.34)}, 3000, true), {}) == 3000);
  CHECK(advance_by_words(window, cut({segment(12, 15.34), {.start_s = 16, .end_s = 17}}, 700, false), {}) == 534);
  CHECK(advance_by_words(window, cut({}, 700, false), {}) == 700);
  CHECK(advance_by_words(window, cut({segment(9, 10)}, 700, false), {}) == 700);  // not inside of the window
}

TEST_CASE("with a threshold a rest of the window that is shorter is skipped") {
  const Window window{1000, 2990};
  CHECK(advance_by_words(window, cut({segment(12, 15)}, 600, false), kThreshold_s) == 500);
  CHECK(advance_by_words(window, cut({segment(12, 38.5)}, 2900, false), kThreshold_s) == 2990);
}

TEST_CASE("a window that begins with silence and what looks made up is decoded again behind the silence") {
  const Window window{1000, 3000};
  const std::vector<Segment> late = {segment(13.5, 15, kMadeUp)}, early = {segment(11, 13, kMadeUp)},
                             sure = {segment(13.5, 15)};
  CHECK(leading_silence(window, late, kThreshold_s) == 350);
  CHECK(leading_silence(window, early, kThreshold_s) == std::nullopt);
  CHECK(leading_silence(window, sure, kThreshold_s) == std::nullopt);
  CHECK(leading_silence(window, {}, kThreshold_s) == std::nullopt);
  const std::vector<Segment> at_once = {segment(10.0000001, 12, kMadeUp)};
  CHECK(leading_silence(window, at_once, 0) == std::nullopt);  // less than a frame: it would never end
}

TEST_CASE("improbable, very short and very long words look made up, a few among others don't") {
  const Window window{1000, 3000};
  const auto looks_made_up = [&](const Segment& late) { return leading_silence(window, {&late, 1}, 1).has_value(); };
  CHECK(looks_made_up(segment(13, 13.08)));  // 0.02 s each
  CHECK(looks_made_up(segment(13, 25)));     // 3 s each
  CHECK_FALSE(looks_made_up(segment(13, 15)));
  Segment one_of_four = segment(13, 15);
  one_of_four.words[1].probability = kMadeUp;
  CHECK_FALSE(looks_made_up(one_of_four));
  Segment with_marks = segment(13, 15, kMadeUp);
  with_marks.words.push_back({15, 15.5, "?", 0.9f});  // punctuation doesn't count
  CHECK(looks_made_up(with_marks));
}

TEST_CASE("what looks made up between silences is dropped with all behind it, and the window goes on there") {
  const Window window{1000, 3000};
  std::vector<Segment> segments = {segment(11, 13), segment(16, 18, kMadeUp), segment(22, 24)};
  CHECK(drop_made_up(window, segments, kThreshold_s, 9, kFarAway) == 600);
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].start_s == 11);
}

TEST_CASE("what looks made up next to speech stays") {
  const Window window{1000, 3000};
  const std::vector<Segment> before = {segment(13, 15), segment(16, 18, kMadeUp), segment(22, 24)};
  const std::vector<Segment> after = {segment(11, 13), segment(16, 18, kMadeUp), segment(19, 24)};
  for (auto segments : {before, after}) {
    CHECK(drop_made_up(window, segments, kThreshold_s, 9, kFarAway) == std::nullopt);
    CHECK(segments.size() == 3);
  }
}

TEST_CASE("more that looks made up counts as silence") {
  const Window window{1000, 3000};
  std::vector<Segment> segments = {segment(11, 13), segment(16, 18, kMadeUp), segment(18, 20, kMadeUp)};
  CHECK(drop_made_up(window, segments, kThreshold_s, 9, kFarAway) == 600);
  CHECK(segments.size() == 1);
}

TEST_CASE("made up text near the end of the sound ends it; at a window's beginning the next one is a second later") {
  const Window window{1000, 1000};
  std::vector<Segment> near_the_end = {segment(11, 13), segment(16, 19, kMadeUp)};
  CHECK(drop_made_up(window, near_the_end, kThreshold_s, 9, 2000) == std::nullopt);  // speech may follow within 1 s
  std::vector<Segment> last = {segment(11, 13), segment(16, 17, kMadeUp)};
  CHECK(drop_made_up(window, last, kThreshold_s, 9, 2000) == 600);
  std::vector<Segment> first = {segment(10, 12, kMadeUp), segment(16, 18)};
  CHECK(drop_made_up(window, first, kThreshold_s, 9, kFarAway) == 100);
  CHECK(first.empty());
  const Window full{1000, 3000};
  std::vector<Segment> end_of_full = {segment(11, 13), segment(36, 39.5, kMadeUp)};
  CHECK(drop_made_up(full, end_of_full, kThreshold_s, 9, 4000) == 3000);
}
