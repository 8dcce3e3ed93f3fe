// Captions that roll up, as lines and as what is written to a terminal.
#include <doctest/doctest.h>

#include "captions.h"
#include "src/live/outputs/roll_up.h"
#include "src/live/outputs/terminal_output.h"
#include "src/subtitles/columns.h"

using namespace sotto;

namespace {

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

TEST_CASE("roll-up: every committed word leaves once and in order, no line is too wide, and none is changed behind it") {
  for (const int columns : {2, 3, 7, 20, 42}) {
    CAPTURE(columns);
    RollUp text;
    std::string left, said;
    for (const CaptionUpdate& update : told(lecture(12))) {
      text.take(update);
      said += text_of(update.committed);
      for (const std::string& line : text.leave(columns, 2)) {
        CHECK(size_of(line).columns <= columns);
        left += line;
      }
      for (const RollUp::Line& line : text.lines(columns)) {
        CHECK(line.columns <= columns);
        CHECK(size_of(line.committed + line.tail).columns == line.columns);
      }
    }
    for (const std::string& line : text.leave(columns, 0)) left += line;
    CHECK(without_spaces(left) == without_spaces(said));
    CHECK(text.lines(columns).empty());
  }
}

TEST_CASE("roll-up: a tail that changes its mind never moves what is committed, nor makes it leave") {
  RollUp text;
  text.take({.committed = spoken("The first words that stand are here", 1), .language = "en"});
  const auto committed = [&] {
    std::string all;
    for (const RollUp::Line& line : text.lines(20)) all += line.committed + "|";
    return all;
  };
  text.take({.tail = spoken("short", 5), .language = "en"});
  CHECK(committed() == "The first words that|stand are here|");
  std::string left;
  for (const char* tail : {"a tail that is longer than the two lines that there are, by far", "", "x", "other words"}) {
    text.take({.tail = spoken(tail, 5), .language = "en"});
    for (const std::string& line : text.leave(20, 2)) left += line + "|";
    CHECK((left + committed()).starts_with("The first words that|stand are here|"));
    CHECK(left.size() <= std::string("The first words that|").size());  // the second line may yet take a word
  }
}

TEST_CASE("roll-up: full-width characters count twice and break where their typography has it; controls show nothing") {
  RollUp text;
  CaptionUpdate update = {.language = "ja"};
  for (const char* word : {"字幕", "は", "読み", "やすく", "、", "途中", "で", "変わら", "ない", "。"})
    update.committed.push_back({1, 2, word, 1});
  text.take(update);
  for (const RollUp::Line& line : text.lines(10)) {
    CHECK(line.columns <= 10);
    CHECK(!line.committed.starts_with("、"));
    CHECK(!line.committed.starts_with("。"));
  }
  RollUp controls;
  controls.take({.committed = {{1, 2, " a\x1b[2J\x07\r\nb\xff", 1}, {2, 3, " \u202Ec\u0085d\u2067", 1}}});
  std::string all;
  for (const RollUp::Line& line : controls.lines(42)) all += line.committed + "\n";
  CHECK(all == "a [2J b\uFFFD c d\n");
}

TEST_CASE("roll-up: an utterance begins a line") {
  RollUp text;
  text.take({.committed = spoken("One.", 1), .ends_utterance = true});
  text.take({.committed = spoken("Two", 3), .tail = spoken("three", 4)});
  const std::vector<RollUp::Line> lines = text.lines(42);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].committed == "One.");
  CHECK(lines[1].committed == "Two");
  CHECK(lines[1].tail == " three");
}

TEST_CASE("terminal: what is drawn has as many rows as the window, and nothing where nothing changed") {
  for (const TerminalSize size : {TerminalSize{80, 24}, {80, 1}, {80, 2}, {1, 1}, {2, 5}, {3, 3}, {10, 2}}) {
    TerminalPicture picture;
    for (const CaptionUpdate& update : told(lecture(4))) {
      picture.take(update);
      picture.take(update.heard_s, -20, true);
      const std::string drawn = picture.draw(size);
      const size_t up = drawn.rfind('A');  // back to the first row
      const int rows = up == drawn.npos || drawn[up - 2] != '[' ? 1 : drawn[up - 1] - '0' + 1;
      CHECK(rows <= size.rows);
      CHECK(picture.draw(size).empty());
    }
  }
}

TEST_CASE("terminal: the level, how far behind it is, and notices") {
  TerminalPicture picture;
  picture.take(12.0, -100, false);
  const std::string quiet = picture.draw({});
  CHECK(quiet.find("0:12") != quiet.npos);
  CHECK(quiet.find("behind") == quiet.npos);
  CHECK(quiet.find("█") == quiet.npos);
  picture.take(13.0, -6, true);
  picture.take({.heard_s = 13, .behind_s = 2.34, .committed = spoken("Hello", 12)});
  const std::string loud = picture.draw({});
  CHECK(loud.find("█████████") != loud.npos);
  CHECK(loud.find("behind by 2.3 s") != loud.npos);
  picture.take("The microphone\n\x1b[2J is gone.");
  const std::string told = picture.draw({});
  CHECK(told.find("(0:13) The microphone [2J is gone.") != told.npos);
  CHECK(picture.finish({}).find("Hello") != std::string::npos);
}
