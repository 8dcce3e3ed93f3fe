// Where sentences begin in words that come one after the other.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/live/caption.h"
#include "src/subtitles/units.h"

namespace sotto {

// A transcript of one segment that holds these words. language: code.
Transcript transcript_of(std::span<const Word> words, std::string_view language);

// The units (subtitles/units.h) of words, none of them cut however wide, and the word that each is part of.
struct WordUnits {
  std::vector<Unit> units;
  std::vector<size_t> words;  // by unit
};
WordUnits units_of_words(std::span<const Word> words, std::string_view language);

// By word; the first always begins one.
std::vector<bool> begins_sentence(std::span<const Word> words, std::string_view language);

// How much of a text is to be seen: characters that are no white space and no control characters. The same whether they
// stand in words, units or lines.
size_t count_visible(std::string_view text);

// Committed words, kept until their sentence is over.
class SentenceGatherer {
 public:
  // The sentences that this ends: by punctuation with a new sentence behind it, by a pause, or by their length.
  std::vector<std::vector<Word>> take(const CaptionUpdate& update);
  std::vector<std::vector<Word>> finish();  // the last one, if there is any

 private:
  std::vector<Word> open_;
};

}  // namespace sotto
