// Two windows that share some sound, because somebody speaks across the place where it was cut: their texts become one
// text, without loss and without a repeat.
#pragma once

#include <string>
#include <vector>

#include "models/tokenizer.h"
#include "src/transcript.h"

namespace sotto {

// Letters and figures alone, small where they are ASCII: what makes words the same in two texts.
std::string bare(const std::string& text);

// Takes from the end of `before` and from the beginning of `after` what the other one has, too. Where they agree on a
// word of the shared sound, first_s ... last_s, the text changes over behind that word, of several behind the one nearest
// to the middle; otherwise in the middle. Segments have words; those without any left are removed.
void join(std::vector<Segment>& before, std::vector<Segment>& after, double first_s, double last_s,
          const Tokenizer& tokenizer);

}  // namespace sotto
