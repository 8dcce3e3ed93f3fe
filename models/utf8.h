// UTF-8 as models give it: sometimes cut inside a character, sometimes none at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto {

// What stands at the start of some bytes. A part that forms no character is the longest beginning of one there (the
// "maximal subpart" of the Unicode standard, chapter 3.9), at least a byte long.
struct Character {
  enum State { whole, broken, cut };  // cut: the bytes end before the character does
  State state;
  char32_t code;       // U+FFFD unless whole
  std::size_t length;  // in bytes
};
Character first_character(std::string_view bytes);  // bytes isn't empty

// The text with every part that forms no character replaced by one U+FFFD, as Python's errors="replace" does.
std::string valid_utf8(std::string_view bytes);

// Whether the character has the Unicode property White_Space.
bool is_white_space(char32_t code);

// The text without white space at its ends.
std::string_view strip(std::string_view text);

}  // namespace sotto
