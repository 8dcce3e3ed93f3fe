// Which words of two texts are the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// What is compared of a word: its letters and digits, without case, accents and forms of presentation. May be empty.
std::string matching_key(std::string_view word);

// 1: the same; 0: nothing in common. By the least number of characters to change.
double likeness(std::string_view a, std::string_view b);

struct MatchWord {
  std::string key;
  bool begins_sentence = false;  // where it is a little more likely that something was left out
};

// For each word of a the one of b that it is, or was taken for, in order, no two for the same; -1: none. The cheapest way
// from one text to the other, where a gap costs more to begin than to go on. What is long is first cut at rows of words
// that are found once in both (patience diff), so that the time is about proportional to the length.
std::vector<int> match_words(std::span<const MatchWord> a, std::span<const MatchWord> b);

}  // namespace sotto
