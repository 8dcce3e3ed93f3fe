// How far two texts are from each other, word by word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto {

// A text's words as they are compared: small letters, without marks other than apostrophes inside, without the sounds of
// hesitation that nobody writes down alike (um, uh, hmm).
std::vector<std::string> plain_words(std::string_view text);

struct Difference {
  int n_edits = 0;  // words put in, left out or changed, as few as can be
  std::vector<std::pair<int, int>> equal;  // places of words that stand in both, in order
};

Difference difference(std::span<const std::string> reference, std::span<const std::string> words);

}  // namespace sotto
