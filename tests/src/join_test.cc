#include "src/join.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sotto;

namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer all(51865);
  return all;
}

// Words of half a second each, from start_s on, as one segment.
std::vector<Segment> said(double start_s, const std::vector<std::string>& words) {
  Segment segment{.start_s = start_s};
  for (const std::string& word : words) {
    segment.words.push_back({start_s, start_s + 0.5, " " + word, 1});
    segment.text += " " + word;
    start_s += 0.5;
  }
  segment.end_s = start_s;
  segment.tokens = tokenizer().encode(segment.text);
  segment.tokens.insert(segment.tokens.begin(), tokenizer().special().first_timestamp);
  return {segment};
}

std::string text(const std::vector<Segment>& segments) {
  std::string all;
  for (const Segment& segment : segments) all += segment.text;
  return all;
}

}  // namespace

TEST_CASE("where two windows agree the text goes over from one to the other, nothing lost or said twice") {
  auto before = said(26, {"we", "were", "told", "that", "the", "house"});  // the last one cut short in the sound
  auto after = said(26.9, {"old", "That,", "the", "housekeeper", "left"});
  join(before, after, 27, 29, tokenizer());
  CHECK(text(before) + text(after) == " we were told that the housekeeper left");
  CHECK(before[0].end_s <= after[0].start_s + 0.5);
  CHECK(tokenizer().decode(before[0].tokens) == text(before));
  CHECK(before[0].tokens.front() == tokenizer().special().first_timestamp);
}

TEST_CASE("where they agree on nothing the middle of the shared sound decides") {
  auto before = said(26, {"one", "two", "three", "four", "five", "six"});
  auto after = said(27, {"uno", "dos", "tres", "cuatro"});
  join(before, after, 27, 29, tokenizer());
  CHECK(text(before) + text(after) == " one two three four tres cuatro");
}

TEST_CASE("a word that is said again later is another word") {
  auto before = said(26, {"no", "no", "no", "no"});
  auto after = said(27, {"no", "no", "no", "no"});
  join(before, after, 27, 28, tokenizer());
  CHECK(text(before) + text(after) == " no no no no no no");
}

TEST_CASE("a segment that the other window has whole goes away") {
  auto before = said(20, {"first"});
  const auto second = said(28.6, {"second"});
  before.insert(before.end(), second.begin(), second.end());
  auto after = said(28.5, {"Second", "third"});
  join(before, after, 27, 29, tokenizer());
  CHECK(text(before) + text(after) == " first second third");
}
