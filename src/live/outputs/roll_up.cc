#include "src/live/outputs/roll_up.h"

#include <algorithm>
#include <utility>

#include "models/utf8.h"
#include "src/live/outputs/sentences.h"
#include "src/subtitles/columns.h"

namespace sotto {
namespace {

// U+202A to U+202E, U+2066 to U+2069: a line that holds one may show anything in any order.
bool turns_text(char32_t code) { return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069); }

std::string without_turns(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!turns_text(character.code)) out += text.substr(0, character.length);
    text.remove_prefix(character.length);
  }
  return out;
}

}  // namespace

std::vector<RollUp::Piece> RollUp::pieces_of(std::vector<Word> words, const std::string& language) const {
  std::vector<Piece> pieces;
  const bool goes_on = before_.has_value();
  if (goes_on) words.insert(words.begin(), *before_);  // whether a break may be depends on both its sides
  const WordUnits all = units_of_words(words, language);
  for (size_t i = 0; i < all.units.size(); ++i) {
    const Unit& unit = all.units[i];
    if (goes_on && all.words[i] == 0) continue;
    const bool begins = i == 0;
    pieces.push_back({.text = without_turns(unit.word.text),
                      .space = unit.space,
                      .may_break = begins || unit.break_cost < kNoBreak,
                      .new_line = begins});
  }
  return pieces;
}

void RollUp::take(const CaptionUpdate& update) {
  if (!update.committed.empty()) {
    for (Piece& piece : pieces_of(update.committed, update.language)) committed_.push_back(std::move(piece));
    before_ = update.committed.back();
  }
  if (update.ends_utterance) before_.reset();
  tail_ = pieces_of(update.tail, update.language);
}

RollUp::Wrapped RollUp::wrap(int columns) const {
  Wrapped wrapped;
  const size_t n_committed = committed_.size(), n = n_committed + tail_.size();
  const auto piece = [&](size_t i) -> const Piece& { return i < n_committed ? committed_[i] : tail_[i - n_committed]; };
  const auto end_line = [&](size_t i, size_t byte) {
    wrapped.ends.emplace_back(i, byte);
    wrapped.lines.emplace_back();
  };
  const auto add = [&](size_t i, std::string_view text, int width) {
    Line& line = wrapped.lines.back();
    (i < n_committed ? line.committed : line.tail) += text;
    line.columns += width;
  };
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;  // of what can't be parted
    int width = size_of(piece(i).text).columns;
    for (; end < n && !piece(end).may_break; ++end) width += piece(end).space + size_of(piece(end).text).columns;
    if (wrapped.lines.empty()) wrapped.lines.emplace_back();
    else if (piece(i).new_line || wrapped.lines.back().columns + piece(i).space + width > columns) end_line(i, 0);
    for (; i < end; ++i) {
      const int own = size_of(piece(i).text).columns, used = wrapped.lines.back().columns;
      const int space = piece(i).space && used > 0;
      const int least = own <= columns ? own : 2;  // what is wider than a line begins where a character has room
      if (used > 0 && used + space + least > columns) end_line(i, 0);
      else if (space) add(i, " ", 1);
      if (wrapped.lines.back().columns + own <= columns) {
        add(i, piece(i).text, own);
        continue;
      }
      for (const Grapheme& grapheme : graphemes_of(piece(i).text)) {  // wider than a line
        if (wrapped.lines.back().columns > 0 && wrapped.lines.back().columns + grapheme.columns > columns)
          end_line(i, static_cast<size_t>(grapheme.bytes.data() - piece(i).text.data()));
        add(i, grapheme.bytes, grapheme.columns);
      }
    }
  }
  wrapped.ends.emplace_back(n, 0);
  return wrapped;
}

std::vector<RollUp::Line> RollUp::lines(int columns) const { return wrap(columns).lines; }

std::vector<std::string> RollUp::leave(int columns, size_t stay) {
  Wrapped wrapped = wrap(columns);
  std::vector<std::string> left;
  // A line is what it will be once something committed begins the next one, or its utterance is over.
  const auto stands = [&](size_t line) {
    const auto [piece, byte] = wrapped.ends[line];
    return piece < committed_.size() || (piece == committed_.size() && byte == 0 && !before_);
  };
  while (left.size() < wrapped.lines.size() && wrapped.lines.size() - left.size() > stay && stands(left.size()))
    left.push_back(std::move(wrapped.lines[left.size()].committed));
  if (left.empty()) return left;
  const auto [piece, byte] = wrapped.ends[left.size() - 1];
  committed_.erase(committed_.begin(), committed_.begin() + static_cast<std::ptrdiff_t>(piece));
  if (byte > 0) committed_.front().text.erase(0, byte);
  if (!committed_.empty()) committed_.front().may_break = true;
  return left;
}

}  // namespace sotto
