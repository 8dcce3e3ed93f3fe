#include "src/subtitles/columns.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr char32_t kEmojiPresentation = 0xFE0F;

bool is_regional_indicator(char32_t code) { return code >= 0x1F1E6 && code <= 0x1F1FF; }

int columns_of(char32_t code) {
  if (code == kEmojiPresentation || is_regional_indicator(code)) return 2;  // "❤️", and half a flag
  return std::clamp(utf8proc_charwidth(static_cast<int32_t>(code)), 0, 2);
}

// Calls take(bytes, columns) for each grapheme.
template <typename Take>
void each_grapheme(std::string_view text, Take take) {
  size_t begin = 0;
  int columns = 0;
  int32_t state = 0, before = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const auto code = static_cast<int32_t>(character.code);
    const bool plain = code < 0x80 && before < 0x80;  // any two break, but for CR LF, which no line holds
    if (at > begin && (plain || utf8proc_grapheme_break_stateful(before, code, &state))) {
      take(text.substr(begin, at - begin), columns);
      begin = at;
      columns = 0;
    }
    if (plain) state = 0;
    columns = std::max(columns, code >= 0x20 && code < 0x7F ? 1 : columns_of(character.code));
    before = code;
    at += character.length;
  }
  if (begin < text.size()) take(text.substr(begin), columns);
}

}  // namespace

std::vector<Grapheme> graphemes_of(std::string_view text) {
  std::vector<Grapheme> graphemes;
  each_grapheme(text, [&](std::string_view bytes, int columns) { graphemes.push_back({bytes, columns}); });
  return graphemes;
}

TextSize size_of(std::string_view text) {
  TextSize size;
  each_grapheme(text, [&](std::string_view, int columns) {
    size.columns += columns;
    ++size.graphemes;
  });
  return size;
}

}  // namespace sotto
