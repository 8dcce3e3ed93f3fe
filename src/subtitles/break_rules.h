// Where a text may be broken, by its punctuation and its language.
#pragma once

#include <span>
#include <string_view>

#include "src/subtitles/units.h"

namespace sotto {

// What a word asks of the break beside it.
enum class BreakWord : unsigned char {
  none,
  conjunction,  // a break goes before it
  preposition,  // likewise, a little less gladly
  binder,       // never a break behind it: article, possessive, auxiliary, negation, pronoun
  pronoun,      // likewise, but behind a preposition it ends a phrase: "for you"
  modifier,     // number, ordinal, adverb or adjective, which belongs to the noun or adjective that follows, if one does
  title,        // never a break behind it, and a point there ends no sentence
};

// By the word as it is written in the middle of a sentence, without punctuation. Languages without a list have none.
BreakWord break_word(std::string_view language, std::string_view word);

// Sets break_cost and begins_sentence of each. Breaks go behind sentences, then behind clauses, then before
// conjunctions and prepositions; never between an article and its noun, an auxiliary and its verb, a title or a first
// name and a last name, a number and what it counts; between characters of scripts that are written without spaces
// where their typography allows it. Nothing else of what has no space between it is parted, unless it would fill more
// than a line.
void set_break_costs(std::span<Unit> units, std::string_view language);

}  // namespace sotto
