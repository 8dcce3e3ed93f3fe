#include "models/utf8.h"

#include "models/error.h"

namespace sotto {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// What a lead byte says of its character. The second byte's range leaves out overlong forms, surrogates and what is
// beyond U+10FFFF (Unicode standard, table 3-7); later bytes are always 80..BF.
struct Lead {
  std::size_t length;  // 0: no character starts with this byte
  int second_low = 0x80, second_high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2 || byte > 0xF4) return {0};
  if (byte < 0xE0) return {2};
  if (byte < 0xF0) return {3, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
  return {4, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
}

}  // namespace

Character first_character(std::string_view bytes) {
  CHECK_INVARIANT(!bytes.empty());
  const auto first = static_cast<unsigned char>(bytes[0]);
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {Character::broken, kReplacement, 1};
  if (lead.length == 1) return {Character::whole, first, 1};
  char32_t code = first & (0x7Fu >> lead.length);
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Character::cut, kReplacement, i};
    const auto next = static_cast<unsigned char>(bytes[i]);
    const bool follows = i == 1 ? next >= lead.second_low && next <= lead.second_high : (next & 0xC0) == 0x80;
    if (!follows) return {Character::broken, kReplacement, i};
    code = code << 6 | (next & 0x3F);
  }
  return {Character::whole, code, lead.length};
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    text += character.state == Character::whole ? bytes.substr(0, character.length) : "\uFFFD";
    bytes.remove_prefix(character.length);
  }
  return text;
}

bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

std::string_view strip(std::string_view text) {
  std::size_t begin = 0, end = 0;  // of what is no white space
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const Character character = first_character(text.substr(i));
    if (!is_white_space(character.code)) {
      if (!inside) begin = i;
      inside = true;
      end = i + character.length;
    }
    i += character.length;
  }
  return text.substr(begin, end - begin);
}

}  // namespace sotto
