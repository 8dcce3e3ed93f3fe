// How wide a text is, and where it may be cut.
#pragma once

#include <string_view>
#include <vector>

namespace sotto {

// What a reader takes for one character: an extended grapheme cluster (Unicode Standard Annex 29), such as a letter with
// its accents, a syllable of Hangul or a family of emoji.
struct Grapheme {
  std::string_view bytes;
  int columns;  // 0, 1 or 2: full-width characters and emoji take two columns of a grid (Annex 11), marks take none
};

std::vector<Grapheme> graphemes_of(std::string_view text);

struct TextSize {
  int columns = 0, graphemes = 0;
};
TextSize size_of(std::string_view text);

}  // namespace sotto
