#include "src/subtitles/units.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/utf8.h"
#include "src/subtitles/break_rules.h"

namespace sotto {
namespace {

int64_t to_ms(double seconds) { return seconds > 0 ? std::llrint(std::min(seconds, 1e12) * 1000) : 0; }

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// No-break spaces hold together what stands at their sides.
bool parts_words(char32_t code) {
  return is_control(code) || (is_white_space(code) && code != 0xA0 && code != 0x2007 && code != 0x202F);
}

// What stands between spaces. space: whether one came before the text; then whether one ends it.
std::vector<WrittenWord> parts_of(std::string_view text, bool& space) {
  std::vector<WrittenWord> parts;
  bool begins = true;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (parts_words(character.code)) {
      begins = space = true;
    } else {
      if (begins) parts.push_back({"", space});
      parts.back().text += character.state == Character::whole ? text.substr(0, character.length) : "\uFFFD";
      begins = space = false;
    }
    text.remove_prefix(character.length);
  }
  return parts;
}

bool is_thai_or_like_it(char32_t code) {
  return (code >= 0x0E00 && code < 0x0F00) || (code >= 0x1000 && code < 0x10A0) || (code >= 0x1780 && code < 0x1800);
}

bool is_written_without_spaces(char32_t code) {
  return is_thai_or_like_it(code) || (code >= 0x0F00 && code < 0x1000) || (code >= 0x2E80 && code < 0xA000) ||
         (code >= 0xF900 && code < 0xFB00) || (code >= 0xFF00 && code < 0xFFF0) || (code >= 0x20000 && code < 0x40000);
}

// Takes the parts of one stretch of time into units: each gets a share by its length.
class Collector {
 public:
  explicit Collector(int64_t end_ms) : end_ms_(end_ms) {}

  void add(const std::vector<WrittenWord>& parts, int64_t start_ms, int64_t end_ms, const Unit& like) {
    start_ms = std::clamp(start_ms, last_start_ms_, std::max(last_start_ms_, end_ms_));
    end_ms = std::clamp(end_ms, start_ms, std::max(start_ms, end_ms_));
    std::vector<TextSize> sizes;
    int total = 0, done = 0;
    for (const WrittenWord& part : parts) total += sizes.emplace_back(size_of(part.text)).graphemes;
    for (size_t i = 0; i < parts.size(); ++i) {
      Unit unit = like;
      unit.word.text = parts[i].text;
      unit.size = sizes[i];
      unit.space = parts[i].space;
      unit.word.start_ms = start_ms + (end_ms - start_ms) * done / std::max(total, 1);
      done += sizes[i].graphemes;
      unit.word.end_ms = start_ms + (end_ms - start_ms) * done / std::max(total, 1);
      last_start_ms_ = unit.word.start_ms;
      units.push_back(std::move(unit));
    }
  }

  std::vector<Unit> units;

 private:
  int64_t last_start_ms_ = 0;
  const int64_t end_ms_;
};

// Cuts units that no line can hold.
std::vector<Unit> cut_to_width(std::vector<Unit> units, int columns) {
  const auto fits = [&](const Unit& unit) { return unit.size.columns <= columns; };
  if (std::ranges::all_of(units, fits)) return units;
  Collector cut(INT64_MAX);
  for (Unit& unit : units) {
    if (fits(unit)) {
      cut.add({{unit.word.text, unit.space}}, unit.word.start_ms, unit.word.end_ms, unit);
      continue;
    }
    std::vector<WrittenWord> pieces = {{"", unit.space}};
    int width = 0;
    for (const Grapheme& grapheme : graphemes_of(unit.word.text)) {
      if (width > 0 && width + grapheme.columns > columns) {
        pieces.push_back({"", false});
        width = 0;
      }
      pieces.back().text += grapheme.bytes;
      width += grapheme.columns;
    }
    cut.add(pieces, unit.word.start_ms, unit.word.end_ms, unit);
  }
  return std::move(cut.units);
}

}  // namespace

std::vector<WrittenWord> written_words(std::string_view text) {
  std::vector<WrittenWord> words;
  bool space = false;
  for (const WrittenWord& part : parts_of(text, space)) {
    bool first = true, alone = false;
    for (const Grapheme& grapheme : graphemes_of(part.text)) {
      const bool without_spaces = is_written_without_spaces(first_character(grapheme.bytes).code);
      if (first || without_spaces || alone)
        words.push_back({std::string(grapheme.bytes), first && part.space});
      else
        words.back().text += grapheme.bytes;
      first = false;
      alone = without_spaces;
    }
  }
  return words;
}

std::vector<Unit> units_of(const Transcript& transcript, int columns) {
  Collector collector(transcript.duration_s > 0 ? to_ms(transcript.duration_s) : INT64_MAX);
  std::map<std::string_view, int> speakers;
  Unit like;
  for (const Segment& segment : transcript.segments) {
    like.segment = static_cast<int>(&segment - transcript.segments.data());
    like.speaker = speakers.emplace(segment.speaker, speakers.size()).first->second;
    const size_t before = collector.units.size();
    bool space = false;
    for (const Word& word : segment.words) {
      like.word.probability = word.probability;
      collector.add(parts_of(word.text, space), to_ms(word.start_s), to_ms(word.end_s), like);
    }
    if (segment.words.empty()) {
      like.word.probability = 0;
      collector.add(written_words(segment.text), to_ms(segment.start_s), to_ms(segment.end_s), like);
    }
    if (collector.units.size() == before) continue;
    // The text of two segments never runs together; whether a space parts it depends on the script.
    const auto last = first_character(collector.units[before].word.text).code;
    collector.units[before].space = collector.units[before].space || !is_written_without_spaces(last);
  }
  if (!collector.units.empty()) collector.units.front().space = false;
  std::vector<Unit> units = cut_to_width(std::move(collector.units), columns);
  set_break_costs(units, transcript.language);
  return units;
}

}  // namespace sotto
