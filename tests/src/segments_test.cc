#include "src/segments.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sotto;

namespace {

const Tokenizer& english() {
  static const Tokenizer tokenizer(51864);
  return tokenizer;
}

int at(double seconds) { return english().special().first_timestamp + static_cast<int>(seconds * 50 + 0.5); }

// Tokens of a line such as {at(0), " Hello", at(2)}.
struct Piece {
  Piece(int token) : tokens{token} {}
  Piece(const char* text) : tokens(english().encode(text)) {}
  std::vector<int> tokens;
};
std::vector<int> line(std::initializer_list<Piece> pieces) {
  std::vector<int> tokens;
  for (const Piece& piece : pieces) tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
  return tokens;
}

void check(const Segment& segment, double start_s, double end_s, const std::string& text) {
  CHECK(segment.start_s == doctest::Approx(start_s));
  CHECK(segment.end_s == doctest::Approx(end_s));
  CHECK(segment.text == text);
}

}  // namespace

TEST_CASE("side by side timestamps cut, and what follows the last pair is decoded again") {
  const auto tokens = line({at(0), " One.", at(2), at(2.5), " Two.", at(5), at(5), " Thr"});
  const Cut cut = cut_into_segments({1000, 3000}, tokens, english());
  REQUIRE(cut.segments.size() == 2);
  check(cut.segments[0], 10, 12, " One.");
  check(cut.segments[1], 12.5, 15, " Two.");
  CHECK(cut.segments[0].seek == 1000);
  CHECK(cut.segments[0].tokens == line({at(0), " One.", at(2)}));
  CHECK(cut.segments[1].tokens == line({at(2.5), " Two.", at(5)}));
  CHECK(cut.advance == 500);
}

TEST_CASE("a single timestamp at the end closes the last segment and the window") {
  const auto tokens = line({at(0), " One.", at(2), at(2), " Two.", at(5)});
  const Cut cut = cut_into_segments({0, 2700}, tokens, english());
  REQUIRE(cut.segments.size() == 2);
  check(cut.segments[1], 2, 5, " Two.");
  CHECK(cut.advance == 2700);
}

TEST_CASE("a pair at the very end: the next window begins there") {
  const auto tokens = line({at(0), " One.", at(4), at(4)});
  const Cut cut = cut_into_segments({0, 3000}, tokens, english());
  REQUIRE(cut.segments.size() == 1);
  check(cut.segments[0], 0, 4, " One.");
  CHECK(cut.segments[0].tokens == line({at(0), " One.", at(4)}));
  CHECK(cut.advance == 400);
}

TEST_CASE("without a pair there is one segment, to the last timestamp or to the window's end") {
  const Cut ended = cut_into_segments({200, 1100}, line({at(0), " One.", at(3.24)}), english());
  REQUIRE(ended.segments.size() == 1);
  check(ended.segments[0], 2, 5.24, " One.");
  CHECK(ended.advance == 1100);

  const Cut open = cut_into_segments({200, 1100}, line({at(0), " One."}), english());
  check(open.segments.at(0), 2, 13, " One.");
  CHECK(open.advance == 1100);

  const Cut late = cut_into_segments({200, 1100}, line({at(0.5), " One."}), english());
  check(late.segments.at(0), 2, 2.5, " One.");  // the reference's rule: the last timestamp is taken for the end
}

TEST_CASE("no tokens give one empty segment and go on") {
  const Cut cut = cut_into_segments({0, 700}, {}, english());
  REQUIRE(cut.segments.size() == 1);
  check(cut.segments[0], 0, 7, "");
  CHECK(cut.advance == 700);
}

TEST_CASE("blank and instantaneous segments keep their place and lose text and tokens") {
  std::vector<Segment> segments(3);
  segments[0] = {.start_s = 1, .end_s = 1, .text = " Hm.", .tokens = {1, 2}};
  segments[1] = {.start_s = 1, .end_s = 2, .text = " \u3000", .tokens = {3}};
  segments[2] = {.start_s = 2, .end_s = 3, .text = " Yes.", .tokens = {4}};
  clear_blank_segments(segments);
  CHECK(segments[0].text.empty());
  CHECK(segments[0].tokens.empty());
  CHECK(segments[1].text.empty());
  CHECK(segments[1].tokens.empty());
  CHECK(segments[2].text == " Yes.");
  CHECK(segments[2].tokens == std::vector<int>{4});
}

TEST_CASE("no time lies outside of the sound") {
  std::vector<Segment> segments(3);
  segments[0] = {.start_s = 1, .end_s = 2};
  segments[1] = {.start_s = 28, .end_s = 30.02, .words = {{28, 29, " One", 1}, {29, 30.02, " two", 1}}};
  segments[2] = {.start_s = 30.5, .end_s = 31};
  clamp_times(segments, 0, 30);
  check(segments[0], 1, 2, "");
  check(segments[1], 28, 30, "");
  CHECK(segments[1].words[0].end_s == 29);
  CHECK(segments[1].words[1].start_s == 29);
  CHECK(segments[1].words[1].end_s == 30);
  check(segments[2], 30, 30, "");
}

TEST_CASE("a window that stands alone keeps what follows its last pair, to its own end") {
  const Window window{1000, 800};
  const auto tokens = line({at(0), " One.", at(2), at(2), " Two."});
  const Cut cut = cut_whole_window(window, tokens, true, english());
  REQUIRE(cut.segments.size() == 2);
  check(cut.segments[1], 12, 18, " Two.");
  CHECK(cut.advance == 800);

  const Cut unended = cut_whole_window(window, tokens, false, english());  // what comes last may lack words
  CHECK(unended.segments.size() == 1);
  CHECK(unended.advance == 200);
}
