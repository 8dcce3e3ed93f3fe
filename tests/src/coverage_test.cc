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

TEST_CASE("of a word longer than its letters can last only the ends count: speech in its middle is lost") {
  Segment segment = said(0, 12);
  segment.words = {{0, 1, " one", 1}, {1, 10, " two", 1}, {10, 12, " three", 1}};
  const std::vector<Speech> speech = {heard(0, 12)};
  const auto lost = lost_speech(speech, std::vector{segment}, kSampleRate);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0] == heard(2.5, 8.5));
  segment.words = {{0, 9, " Donaudampfschifffahrtsgesellschaftskapitän", 1}, {9, 12, " 1,234,567", 1}};
  CHECK(lost_speech(speech, std::vector{segment}, kSampleRate).empty());
}

TEST_CASE("a segment is thin that says less than is spoken under it, whatever silence is in it") {
  Segment segment = said(0, 10);
  segment.tokens = {50364, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50864};
  CHECK(is_thin(segment, std::vector{heard(0, 10)}, 50257));
  CHECK(is_thin(segment, std::vector{heard(0, 2), heard(8, 12)}, 50257));
  CHECK(!is_thin(segment, std::vector{heard(0, 1.5), heard(8.9, 12)}, 50257));
  CHECK(!is_thin(segment, {}, 50257));
}

TEST_CASE("a segment is parted where lost speech lies between its words, so that no second of it counts as transcribed") {
  const Tokenizer tokenizer(51865);
  Segment segment = said(0, 12);
  segment.text = " One two. Three.";
  segment.words = {{0, 1, " One", 1}, {1, 2, " two.", 1}, {10, 12, " Three.", 1}};
  segment.tokens = tokenizer.encode(segment.text);
  segment.tokens.insert(segment.tokens.begin(), 50364);
  segment.tokens.push_back(50964);
  const std::vector<int> all = segment.tokens;
  std::vector<Segment> segments = {segment};
  const std::vector<Speech> speech = {heard(0, 4), heard(5, 9), heard(10, 12)};
  part_at_lost_speech(segments, speech, tokenizer);
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].text == " One two.");
  CHECK(segments[0].end_s == 2);
  CHECK(segments[1].text == " Three.");
  CHECK(segments[1].start_s == 10);
  std::vector<int> tokens = segments[0].tokens;
  tokens.insert(tokens.end(), segments[1].tokens.begin(), segments[1].tokens.end());
  CHECK(tokens == all);
  CHECK(segments[1].tokens.size() == tokenizer.encode(" Three.").size() + 1);
  const Transcript transcript{.duration_s = 12, .segments = segments};
  CHECK(told(coverage_of(transcript, kWhole, kToTheEnd, &speech, {}), 12) ==
        "transcribed 0-2, silence 2-2.25, failed 2.25-4, silence 4-5, failed 5-9, silence 9-10, transcribed 10-12");
}

TEST_CASE("a text that nobody could say in the time is too fast, in letters of any script") {
  CHECK(is_too_fast("And so my fellow Americans ask not what your country can do for your country.", kSampleRate / 2));
  CHECK(!is_too_fast("ask not what your country can do", kSampleRate / 2));
  CHECK(!is_too_fast("და ასე ჩემო თანამემამულე ამერიკელებო", kSampleRate / 2));
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
