// Captions as lines that roll up: new words come at the end of the lowest line, and when it is full the lines move up.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "src/live/caption.h"

namespace sotto {

class RollUp {
 public:
  // Text as it is shown: valid UTF-8 without control characters, nor characters that turn the order of others around.
  struct Line {
    std::string committed, tail;  // the tail stands behind what is committed
    int columns = 0;
  };

  void take(const CaptionUpdate& update);

  // All lines that haven't left yet, wrapped where the text may be broken, each of at most so many columns (a character
  // of two counts as one that fits where there is only one). An utterance begins a line.
  std::vector<Line> lines(int columns) const;

  // Takes the first lines out of so many columns, as long as more than `stay` are left and no word to come can change
  // them.
  std::vector<std::string> leave(int columns, size_t stay);

  void drop_tail() { tail_.clear(); }

 private:
  struct Piece {               // a word or a part of one
    std::string text;          // without a space before it
    bool space = false;        // before it, unless it begins a line
    bool may_break = false;    // before it
    bool new_line = false;     // before it, in any case
  };
  struct Wrapped {
    std::vector<Line> lines;
    std::vector<std::pair<size_t, size_t>> ends;  // of each line: piece and byte where the next begins
  };
  Wrapped wrap(int columns) const;
  std::vector<Piece> pieces_of(std::vector<Word> words, const std::string& language) const;

  std::deque<Piece> committed_;
  std::vector<Piece> tail_;
  std::optional<Word> before_;  // the last committed word, unless its utterance is over
};

}  // namespace sotto
