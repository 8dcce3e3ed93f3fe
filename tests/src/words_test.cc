#include "src/words.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scripted_network.h"

using namespace sotto;

namespace {

const Tokenizer& english() {
  static const Tokenizer tokenizer(51864);
  return tokenizer;
}

Segment said(double start_s, double end_s, const std::string& text, int64_t seek = 0) {
  Segment segment{.seek = seek, .start_s = start_s, .end_s = end_s, .text = text, .tokens = english().encode(text)};
  segment.tokens.insert(segment.tokens.begin(), english().special().first_timestamp);
  segment.tokens.push_back(english().special().first_timestamp + 100);
  return segment;
}

// Times of tokens that follow each other without a gap.
TextTimes times(const std::vector<double>& starts_s) {
  return {starts_s, std::vector<float>(starts_s.size() - 1, 0.5f)};
}

void add(std::vector<Segment>& segments, const TextTimes& times, double last_speech_s = 0) {
  add_words(segments, times, english(), "en", {}, last_speech_s);
}

void check(const Word& word, const std::string& text, double start_s, double end_s) {
  CHECK(word.text == text);
  CHECK(word.start_s == doctest::Approx(start_s));
  CHECK(word.end_s == doctest::Approx(end_s));
}

}  // namespace

TEST_CASE("segments get their words, with times in the sound, and end where they do") {
  std::vector<Segment> segments = {said(12, 14, " One two.", 1200), said(14, 16, " Three", 1200)};
  TextTimes given = times({0.1, 0.5, 0.9, 1.0, 1.4});
  given.probs = {0.2f, 0.4f, 0.6f, 0.8f};
  add(segments, given);
  REQUIRE(segments[0].words.size() == 2);
  check(segments[0].words[0], " One", 12.1, 12.5);
  check(segments[0].words[1], " two.", 12.5, 12.9);  // the mark's own time isn't the word's
  CHECK(segments[0].words[1].probability == 0.4f);
  CHECK(segments[0].start_s == doctest::Approx(12.1));
  CHECK(segments[0].end_s == doctest::Approx(12.9));
  REQUIRE(segments[1].words.size() == 1);
  check(segments[1].words[0], " Three", 13.0, 13.4);
  CHECK(last_word_end_s(segments) == doctest::Approx(13.4));
}

TEST_CASE("a word of several tokens lasts from the first to the last, with their mean probability") {
  const std::string word = " antidisestablishmentarianism";
  std::vector<Segment> segments = {said(0, 2, word)};
  const size_t n = english().encode(word).size();
  REQUIRE(n > 2);
  TextTimes given;
  for (size_t i = 0; i <= n; ++i) given.starts_s.push_back(0.1 * static_cast<double>(i));
  for (size_t i = 0; i < n; ++i) given.probs.push_back(i == 0 ? 1.0f : 0.0f);
  add(segments, given);
  REQUIRE(segments[0].words.size() == 1);
  CHECK(segments[0].words[0].end_s == doctest::Approx(0.1 * static_cast<double>(n)));
  CHECK(segments[0].words[0].probability == doctest::Approx(1.0 / static_cast<double>(n)));
}

TEST_CASE("the words of a segment are its text, also where it begins without a space") {
  std::vector<Segment> segments = {said(0, 1, " One"), said(1, 2, "two \""), said(2, 3, ", three")};
  std::vector<double> starts_s(1);
  for (const Segment& segment : segments)
    for (size_t i = 2; i < segment.tokens.size(); ++i) starts_s.push_back(starts_s.back() + 0.3);
  add(segments, times(starts_s));
  for (const Segment& segment : segments) {
    std::string text;
    for (const Word& word : segment.words) text += word.text;
    CHECK(text == segment.text);
  }
}

TEST_CASE("silence after a sentence is nobody's") {
  // Words of 0.3 s; the mark takes 3 s of silence, or the next word does.
  std::vector<Segment> segments = {said(0, 9, " One two three. Four five")};
  add(segments, times({0, 0.3, 0.6, 0.9, 3.9, 4.2, 4.5}));
  check(segments[0].words[2], " three.", 0.6, 0.9);
  check(segments[0].words[3], " Four", 3.9, 4.2);

  segments = {said(0, 9, " One two three. Four five")};
  add(segments, times({0, 0.3, 0.6, 0.9, 0.96, 3.9, 4.2}));
  check(segments[0].words[3], " Four", 3.3, 3.9);  // twice the median
  check(segments[0].words[4], " five", 3.9, 4.2);
}

TEST_CASE("a pause before a segment is not part of its first word, nor of its second") {
  std::vector<Segment> segments = {said(0, 9, " One two three four")};
  add(segments, times({0, 3, 3.3, 3.6, 3.9}));
  check(segments[0].words[0], " One", 2.4, 3);
  CHECK(segments[0].start_s == doctest::Approx(2.4));

  segments = {said(0, 9, " One two three four")};
  add(segments, times({0, 0.3, 3, 3.3, 3.6}), -2);
  check(segments[0].words[0], " One", 1.8, 2.4);
  check(segments[0].words[1], " two", 2.4, 3);

  segments = {said(0, 9, " One two three four", 500)};
  add(segments, times({0, 1, 1.3, 1.6, 1.9}), 5.5);  // speech just before it: no pause
  check(segments[0].words[0], " One", 5, 6);
}

TEST_CASE("a timestamp more than half a second inside of the first or last word is believed") {
  std::vector<Segment> segments = {said(1, 2.5, " One two three")};
  add(segments, times({0.3, 1.5, 2.1, 5}), 0.3);  // durations 1.2, 0.6, 2.9: a median of 0.7 at most
  check(segments[0].words[0], " One", 0.8, 1.5);
  CHECK(segments[0].start_s == 1);
  check(segments[0].words[2], " three", 2.1, 2.8);
  CHECK(segments[0].end_s == 2.5);
}

TEST_CASE("segments without text have no words and keep their times") {
  std::vector<Segment> segments = {said(1, 2, ""), said(2, 3, " One")};
  add(segments, times({0.5, 0.9}));
  CHECK(segments[0].words.empty());
  CHECK(segments[0].end_s == 2);
  CHECK(segments[1].words.size() == 1);
  std::vector<Segment> none = {said(1, 2, "")};
  add(none, {{0}, {}});
  CHECK(none[0].words.empty());
  CHECK(last_word_end_s(none) == 2);
  CHECK(last_word_end_s({}) == 0);
}

TEST_CASE("the text is fed behind its language and task, without timestamps") {
  ScriptedNetwork network(51865);
  const Tokenizer tokenizer(51865);
  const SpecialTokens& special = tokenizer.special();
  const std::vector<int> text = tokenizer.encode(" Hallo Welt");
  REQUIRE(text.size() == 2);
  std::vector<Segment> segments(2);
  segments[0].tokens = {special.first_timestamp, text[0], special.first_timestamp + 50};
  segments[1].tokens = {special.first_timestamp + 50, text[1], special.first_timestamp + 90};

  network.script = {{.word_starts_s = {0.4, 1.2, 1.8}, .token_prob = 0.7f}};
  const std::vector<int> prompt = {special.sot, 1};
  const Settings settings;
  const int slot = 0, german = tokenizer.language_token("de");
  network.begin({&slot, 1}, {&prompt, 1}, {&settings, 1});
  const TextTimes given = time_text(network, slot, 300, segments, german, false);
  CHECK(network.aligned == std::vector<int>{special.sot, german, special.transcribe, special.no_timestamps, text[0],
                                            text[1], special.eot});
  REQUIRE(given.starts_s.size() == 3);
  CHECK(given.starts_s[1] == doctest::Approx(1.2));
  CHECK(given.starts_s[2] == doctest::Approx(1.8));
  CHECK(given.probs == std::vector<float>{0.7f, 0.7f});

  segments.resize(1);
  segments[0].tokens = {special.first_timestamp};
  CHECK(time_text(network, slot, 300, segments, german, false).probs.empty());
}

TEST_CASE("small models are timed by the upper half of the decoder, large ones by the heads of their weights") {
  Weights weights{.dims = {.heads = 6, .decoder_layers = 4}, .alignment_heads = {{1, 2}}};
  const auto heads = timing_heads(weights);
  CHECK(heads.size() == 12);
  CHECK(heads.front() == std::pair(2, 0));
  CHECK(heads.back() == std::pair(3, 5));
  weights.dims = {.heads = 20, .decoder_layers = 32};
  CHECK(timing_heads(weights) == weights.alignment_heads);
}
