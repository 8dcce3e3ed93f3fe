#include "src/coverage.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/dims.h"
#include "src/lost_speech.h"

using namespace sotto;

namespace {

Segment said(double start_s, double end_s, float avg_log_prob = -0.2f) {
  return {.start_s = start_s, .end_s = end_s, .text = " so", .avg_log_prob = avg_log_prob, .compression_ratio = 1};
}

Speech heard(double start_s, double end_s) {
  return {static_cast<int64_t>(start_s * kSampleRate), static_cast<int64_t>(end_s * kSampleRate)};
}

// "transcribed 0-2, silence 2-3", and a check that the stretches follow each other from 0 to the end.
std::string told(const Coverage& coverage, double duration_s) {
  std::string text;
  double at_s = 0;
  for (const Coverage::Stretch& stretch : coverage.stretches) {
    CHECK(stretch.start_s == at_s);
    CHECK(stretch.end_s > stretch.start_s);
    char line[80];
    std::snprintf(line, sizeof line, "%s%s %g-%g", text.empty() ? "" : ", ", std::string(name(stretch.fate)).c_str(),
                  stretch.start_s, stretch.end_s);
    text += line;
    at_s = stretch.end_s;
  }
  CHECK(at_s == duration_s);
  return text;
}

const std::vector<Clip> kWhole = {{0, kToTheEnd}};

}  // namespace

TEST_CASE("every second is accounted for") {
  Transcript transcript{.duration_s = 20, .segments = {said(1, 4), said(4, 6, -1.5f)}};
  const std::vector<Speech> speech = {heard(1, 6), heard(10, 12), heard(15, 15.3)};
  const Coverage coverage = coverage_of(transcript, kWhole, kToTheEnd, &speech, {});
  CHECK(told(coverage, 20) == "silence 0-1, transcribed 1-4, low_confidence 4-6, silence 6-10, failed 10-12, silence 12-20");
  CHECK(coverage.n_gaps == 1);
  CHECK(coverage.lost_s / coverage.heard_s == doctest::Approx(2 / 7.3));
  CHECK(sentence(coverage) == "72.6 % of speech transcribed; 1 gap, see --coverage");
}

TEST_CASE("what wasn't asked for and what was never reached is skipped, whoever speaks there") {
  Transcript transcript{.duration_s = 20, .segments = {said(5, 8)}};
  const std::vector<Speech> speech = {heard(5, 8), heard(9, 11), heard(16, 19)};
  const std::vector<Clip> clips = {{500, 1000}, {1200, kToTheEnd}};
  const Coverage coverage = coverage_of(transcript, clips, 1500, &speech, {});
  CHECK(told(coverage, 20) == "skipped 0-5, transcribed 5-8, silence 8-9, failed 9-10, skipped 10-12, silence 12-15, "
                              "skipped 15-20");
}

TEST_CASE("all of it is said of all of it alone, and nothing where nobody listened") {
  Transcript transcript{.duration_s = 10, .segments = {said(0, 9)}};
  std::vector<Speech> speech = {heard(0, 9.2)};
  CHECK(sentence(coverage_of(transcript, kWhole, kToTheEnd, &speech, {})) == "100 % of speech transcribed");
  CHECK(sentence(coverage_of(transcript, kWhole, kToTheEnd, nullptr, {})).empty());
  speech.clear();
  CHECK(sentence(coverage_of(transcript, kWhole, kToTheEnd, &speech, {})).empty());
  const Transcript nothing{.duration_s = 0};
  CHECK(coverage_of(nothing, kWhole, kToTheEnd, &speech, {}).stretches.empty());
}

TEST_CASE("lost speech lies between texts, from its first to its last sound") {
  const std::vector<Speech> speech = {heard(0, 3), heard(3.2, 5), heard(5.5, 8), heard(9, 12)};
  const std::vector<Segment> segments = {said(0, 3), said(8.8, 12)};
  const auto lost = lost_speech(speech, segments, kSampleRate);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0] == Speech{static_cast<int64_t>(3.25 * kSampleRate), 8 * kSampleRate});
  CHECK(lost_speech(speech, segments, 10 * kSampleRate).empty());
  CHECK(lost_speech(speech, {}, kSampleRate).size() == 1);
}

TEST_CASE("where words are known a hole inside a segment counts") {
  Segment segment = said(0, 10);
  segment.words = {{0, 1, " one", 1}, {8.5, 10, " two", 1}};
  const std::vector<Speech> speech = {heard(0, 10)};
  CHECK(lost_speech(speech, std::vector{segment}, kSampleRate).size() == 1);
  segment.words.clear();
  CHECK(lost_speech(speech, std::vector{segment}, kSampleRate).empty());
}

TEST_CASE("of two channels the worse counts; a stretch of a file has what lies before it skipped") {
  Coverage left{{{0, 4, Fate::silence}, {4, 8, Fate::transcribed}, {8, 10, Fate::failed}}, 6, 2, 1};
  const Coverage right{{{0, 2, Fate::transcribed}, {2, 10.5, Fate::low_confidence}}, 10, 0, 0};
  const Coverage both = merged(left, right);
  CHECK(told(both, 10.5) == "transcribed 0-2, low_confidence 2-8, failed 8-10, low_confidence 10-10.5");
  CHECK(both.heard_s == 16);
  CHECK(both.n_gaps == 1);
  shift(left, 5);
  CHECK(told(left, 15) == "skipped 0-5, silence 5-9, transcribed 9-13, failed 13-15");
}
