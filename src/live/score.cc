#include "src/live/score.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "models/utf8.h"

namespace sotto {
namespace {

enum class Kind { letter, apostrophe, other };

Kind kind_of(char32_t code) {
  if (code == '\'' || code == 0x2019) return Kind::apostrophe;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU: case UTF8PROC_CATEGORY_LL: case UTF8PROC_CATEGORY_LT: case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: case UTF8PROC_CATEGORY_MN: case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL: case UTF8PROC_CATEGORY_NO:
      return Kind::letter;
    default:
      return Kind::other;
  }
}

void append(std::string& word, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)), bytes);
  word.append(reinterpret_cast<const char*>(bytes), n);
}

bool hesitates(const std::string& word) {
  for (const std::string_view sound : {"um", "umm", "uh", "uhm", "hm", "hmm", "mm", "mmm", "mhm"})
    if (word == sound) return true;
  return false;
}

}  // namespace

std::vector<std::string> plain_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool apostrophe = false;
  const auto end_word = [&] {
    if (!word.empty() && !hesitates(word)) words.push_back(word);
    word.clear();
    apostrophe = false;
  };
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.length);
    const Kind kind = character.state == Character::whole ? kind_of(character.code) : Kind::other;
    if (kind == Kind::letter) {
      if (apostrophe) word += '\'';
      apostrophe = false;
      append(word, character.code);
    } else if (kind == Kind::apostrophe && !word.empty()) {
      apostrophe = true;
    } else {
      end_word();
    }
  }
  end_word();
  return words;
}

Difference difference(std::span<const std::string> reference, std::span<const std::string> words) {
  enum Step : uint8_t { both, skip_reference, skip_word };
  const size_t n = reference.size(), m = words.size();
  std::vector<Step> steps((n + 1) * (m + 1));
  std::vector<int> above(m + 1), costs(m + 1);
  for (size_t i = 0; i <= n; ++i) {
    for (size_t j = 0; j <= m; ++j) {
      Step& step = steps[i * (m + 1) + j];
      if (i == 0 || j == 0) {
        costs[j] = static_cast<int>(i + j);
        step = i == 0 ? skip_word : skip_reference;
        continue;
      }
      const int change = above[j - 1] + (reference[i - 1] != words[j - 1]), left_out = above[j] + 1,
                put_in = costs[j - 1] + 1;
      costs[j] = std::min({change, left_out, put_in});
      step = costs[j] == change ? both : costs[j] == left_out ? skip_reference : skip_word;
    }
    std::swap(above, costs);
  }
  Difference found;
  found.n_edits = above[m];
  for (size_t i = n, j = m; i > 0 || j > 0;) {
    const Step step = steps[i * (m + 1) + j];
    if (step == both && reference[i - 1] == words[j - 1])
      found.equal.emplace_back(static_cast<int>(i - 1), static_cast<int>(j - 1));
    i -= step != skip_word;
    j -= step != skip_reference;
  }
  std::ranges::reverse(found.equal);
  return found;
}

}  // namespace sotto
