// What the decoder is given before it writes: the text so far, or what the user wants it to have in mind, then the
// tokens that start a transcript. Source: openai/whisper transcribe.py and decoding.py.
#pragma once

#include <span>
#include <vector>

#include "models/dims.h"

namespace sotto {

// Text tokens before the start of the transcript, all together: half the context, less one for <|startofprev|>.
constexpr int kPromptLimit = kTextContext / 2 - 1;

class PromptHistory {
 public:
  // initial: tokens of the initial prompt. carry: they stand before every window's text, not the first one's alone.
  PromptHistory(std::vector<int> initial, bool carry);

  // Tokens for the next window: the end of what was said since the last forget(), kPromptLimit at most. A carried
  // initial prompt takes its share of that first.
  std::vector<int> tokens() const;
  // The same as if nothing had been said: what is carried.
  std::vector<int> carried() const;

  void append(std::span<const int> said);  // tokens of a window's segments, timestamps too
  void forget();                           // nothing said so far is used again, but for a carried initial prompt

 private:
  std::vector<int> initial_;
  bool carry_;
  std::vector<int> said_;
};

// The whole prompt: <|startofprev|> and the history if there is any, <|startoftranscript|>, and for a model of several
// languages the tokens of language and task. language_token: negative for an English-only model.
std::vector<int> whole_prompt(std::span<const int> history, const SpecialTokens& special, int language_token,
                              bool translate);

}  // namespace sotto
