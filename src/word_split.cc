#include "src/word_split.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr std::string_view kWithoutSpaces[] = {"zh", "ja", "th", "lo", "my", "yue", "km", "bo"};
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

// Whether a word of nothing but punctuation belongs to a list. A run of them does if it stands there just so, which is
// the reference's rule.
bool is_in(std::string_view word, std::string_view list) { return list.find(word) != std::string_view::npos; }

// Places in bytes, their end among them, at which no character is cut.
class Characters {
 public:
  explicit Characters(std::string_view bytes) : begins_(bytes.size() + 1) {
    begins_[bytes.size()] = true;
    int32_t state = 0, before = 0;
    for (size_t at = 0; at < bytes.size();) {
      const Character character = first_character(bytes.substr(at));
      const auto code = static_cast<int32_t>(character.code);
      begins_[at] = at == 0 || utf8proc_grapheme_break_stateful(before, code, &state);
      before = code;
      at += character.length;
    }
  }
  bool begin_at(size_t place) const { return begins_[place]; }

 private:
  std::vector<bool> begins_;
};

// The bytes of text tokens, without a character that is incomplete at their end.
std::string bytes_of(std::span<const int> tokens, const Tokenizer& tokenizer) {
  std::string bytes;
  for (const int token : tokens) bytes += tokenizer.bytes(token);
  for (size_t at = 0; at < bytes.size();) {
    const Character character = first_character(std::string_view(bytes).substr(at));
    if (character.state == Character::cut) bytes.resize(at);
    at += character.length;
  }
  return bytes;
}

bool begins_word(std::string_view part) { return part.starts_with(' ') || is_in(strip(part), kPunctuation); }

}  // namespace

bool parted_by_spaces(std::string_view language) {
  return std::ranges::find(kWithoutSpaces, language) == std::end(kWithoutSpaces);
}

std::vector<WordTokens> split_into_words(std::span<const int> tokens, const Tokenizer& tokenizer,
                                         std::string_view language) {
  const bool each_part = !parted_by_spaces(language);
  const std::string bytes = bytes_of(tokens, tokenizer);
  const Characters characters(bytes);

  std::vector<WordTokens> words;
  int begin = 0;  // token at which a part begins that cuts no character
  size_t part_begin = 0, part_end = 0;
  for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
    part_end = std::min(part_end + tokenizer.bytes(tokens[i]).size(), bytes.size());
    const bool last = i + 1 == static_cast<int>(tokens.size());
    if (!last && !characters.begin_at(part_end)) continue;
    const std::string part = valid_utf8(std::string_view(bytes).substr(part_begin, part_end - part_begin));
    if (words.empty() || (!part.empty() && (each_part || begins_word(part)))) {
      words.push_back({part, begin, i + 1});
    } else {
      words.back().text += part;
      words.back().end = i + 1;
    }
    begin = i + 1;
    part_begin = part_end;
  }
  return words;
}

void merge_punctuation(std::vector<Word>& words, std::string_view prepended, std::string_view appended) {
  for (size_t i = words.size(), next = i; i-- > 0;) {
    if (next < words.size() && words[i].text.starts_with(' ') && is_in(strip(words[i].text), prepended)) {
      words[next].text.insert(0, words[i].text);
      words[i].text.clear();
    } else {
      next = i;
    }
  }
  std::erase_if(words, [](const Word& word) { return word.text.empty(); });

  size_t kept = 0;  // words up to this one stay
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[kept].text.ends_with(' ') && is_in(words[i].text, appended))
      words[kept].text += words[i].text;
    else if (++kept != i)
      words[kept] = std::move(words[i]);
  }
  if (!words.empty()) words.resize(kept + 1);
}

}  // namespace sotto
