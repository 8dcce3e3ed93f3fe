#include "src/speech_edges.h"

#include <doctest/doctest.h>

#include <vector>

#include "models/dims.h"

using namespace sotto;

namespace {

Speech heard(double start_s, double end_s) {
  return {static_cast<int64_t>(start_s * kSampleRate), static_cast<int64_t>(end_s * kSampleRate)};
}

Word snapped(double start_s, double end_s, const std::vector<Speech>& speech) {
  std::vector<Segment> segments = {{.start_s = start_s, .end_s = end_s, .words = {{start_s, end_s, " so", 1}}}};
  snap_to_speech(segments, speech);
  CHECK(segments[0].start_s == segments[0].words[0].start_s);
  CHECK(segments[0].end_s == segments[0].words[0].end_s);
  return segments[0].words[0];
}

}  // namespace

TEST_CASE("a word begins and ends where the voice does, within a tenth of a second") {
  const std::vector<Speech> speech = {heard(2, 5), heard(7, 9)};
  CHECK(snapped(1, 2.6, speech).start_s == doctest::Approx(1.9));
  CHECK(snapped(4.5, 6.5, speech).end_s == doctest::Approx(5.1));
  CHECK(snapped(3, 4, speech).start_s == 3);
  CHECK(snapped(3, 4, speech).end_s == 4);
}

TEST_CASE("no word lies across a silence") {
  const std::vector<Speech> speech = {heard(2, 5), heard(7, 9)};
  const Word word = snapped(4.8, 8, speech);
  CHECK(word.start_s == doctest::Approx(6.9));
  CHECK(word.end_s == 8);
}

TEST_CASE("a word where no voice was heard stays where it is") {
  const Word word = snapped(10, 11, {heard(2, 5)});
  CHECK(word.start_s == 10);
  CHECK(word.end_s == 11);
}

TEST_CASE("a segment without words may hold several stretches of speech") {
  std::vector<Segment> segments = {{.start_s = 0, .end_s = 12, .text = " so"}};
  snap_to_speech(segments, std::vector{heard(2, 5), heard(7, 9)});
  CHECK(segments[0].start_s == doctest::Approx(1.9));
  CHECK(segments[0].end_s == doctest::Approx(9.1));
}
