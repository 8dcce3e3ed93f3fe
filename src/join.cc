#include "src/join.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr double kMargin_s = 1;     // beyond the shared sound, in which its words may be timed
constexpr double kSameTime_s = 0.7; // one word has two times that differ by less

double middle(const Word& word) { return (word.start_s + word.end_s) / 2; }

// Leaves the words that `keep` wants, with text and tokens to match.
template <class Keep>
void keep_words(std::vector<Segment>& segments, const Tokenizer& tokenizer, const Keep& keep) {
  for (Segment& segment : segments) {
    if (std::ranges::all_of(segment.words, keep)) continue;
    std::erase_if(segment.words, [&](const Word& word) { return !keep(word); });
    segment.text.clear();
    for (const Word& word : segment.words) segment.text += word.text;
    std::vector<int> tokens = tokenizer.encode(segment.text);
    const int zero = tokenizer.special().first_timestamp;
    if (!segment.tokens.empty() && segment.tokens.front() >= zero) tokens.insert(tokens.begin(), segment.tokens.front());
    if (!segment.tokens.empty() && segment.tokens.back() >= zero) tokens.push_back(segment.tokens.back());
    segment.tokens = std::move(tokens);
    if (segment.words.empty()) continue;
    segment.start_s = segment.words.front().start_s;
    segment.end_s = segment.words.back().end_s;
  }
  std::erase_if(segments, [](const Segment& segment) { return segment.words.empty(); });
}

std::vector<const Word*> words_between(const std::vector<Segment>& segments, double first_s, double last_s) {
  std::vector<const Word*> words;
  for (const Segment& segment : segments)
    for (const Word& word : segment.words)
      if (middle(word) >= first_s && middle(word) <= last_s) words.push_back(&word);
  return words;
}

}  // namespace

std::string bare(const std::string& text) {
  std::string letters;
  for (const unsigned char c : text) {
    if (c >= 0x80) letters += static_cast<char>(c);
    if (c < 0x80 && std::isalnum(c)) letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

void join(std::vector<Segment>& before, std::vector<Segment>& after, double first_s, double last_s,
          const Tokenizer& tokenizer) {
  const double middle_s = (first_s + last_s) / 2;
  double until_s = middle_s, from_s = middle_s;  // middles of words: the last one of `before`, the first one not of `after`
  double nearest_s = HUGE_VAL;
  for (const Word* a : words_between(before, first_s - kMargin_s, last_s + kMargin_s)) {
    const std::string letters = bare(a->text);
    if (letters.empty()) continue;
    for (const Word* b : words_between(after, first_s - kMargin_s, last_s + kMargin_s)) {
      if (std::abs(a->start_s - b->start_s) > kSameTime_s || letters != bare(b->text)) continue;
      const double distance_s = std::abs(middle(*a) - middle_s) + std::abs(middle(*b) - middle_s);
      if (distance_s >= nearest_s) continue;
      nearest_s = distance_s;
      until_s = middle(*a);
      from_s = middle(*b);
    }
  }
  keep_words(before, tokenizer, [&](const Word& word) { return middle(word) <= until_s; });
  keep_words(after, tokenizer, [&](const Word& word) { return middle(word) > from_s; });
}

}  // namespace sotto
