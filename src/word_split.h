// The words of a text, each with the tokens that make it up. Source: openai/whisper tokenizer.py and timing.py; unlike
// there, no word begins inside of what a reader takes for one character (an extended grapheme cluster, Unicode Standard
// Annex 29), such as a letter with its accents or a family of emoji.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer.h"
#include "src/transcript.h"

namespace sotto {

// Tokens [begin, end) of a text.
struct WordTokens {
  std::string text;  // with its leading space
  int begin, end;
};

// Whether a language (code; empty: English) puts spaces between its words.
bool parted_by_spaces(std::string_view language);

// Words of text tokens, in their order; their texts one after the other are the tokens' (Tokenizer::decode). A word
// begins with a space, or is punctuation; in languages that are written without spaces, each token that begins with a
// character is one. language: code; empty: English.
std::vector<WordTokens> split_into_words(std::span<const int> tokens, const Tokenizer& tokenizer,
                                         std::string_view language);

// Makes a word that is nothing but punctuation a part of the next one or of the one before it, whose time it stays:
// of the next if it has a space before it and is found in `prepended`, of the one before if it is found in `appended`.
void merge_punctuation(std::vector<Word>& words, std::string_view prepended, std::string_view appended);

}  // namespace sotto
