// What the decoder is given before it writes: the text so far, or what the user wants it to have in mind, then the
// tokens that start a transcript. Source: openai/whisper transcribe.py and decoding.py.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/dims.h"
#include "models/tokenizer.h"
#include "src/options.h"

namespace sotto {

// Text tokens before the start of the transcript, all together: half the context, less one for <|startofprev|>.
constexpr int kPromptLimit = kTextContext / 2 - 1;
constexpr int kHotwordLimit = kPromptLimit / 2;  // the other half is for the text so far

// What the user wants the decoder to have in mind, as tokens.
struct PromptTexts {
  std::vector<int> hotwords;  // kHotwordLimit at most
  std::vector<int> initial;   // as many as then fit, at most
};

// Cuts what is too long to its end, and says so through warn.
PromptTexts prompt_texts(const Tokenizer& tokenizer, const PromptOptions& options,
                         const std::function<void(const std::string&)>& warn);

class PromptHistory {
 public:
  // Hotwords stand before every window's text; with carry so does the initial prompt, which is else for the first alone.
  PromptHistory(PromptTexts texts, bool carry);

  // Tokens for the next window: the end of what was said since the last forget(), kPromptLimit at most. Hotwords and a
  // carried initial prompt take their share of that first.
  std::vector<int> tokens() const;
  // The same as if nothing had been said: what is carried.
  const std::vector<int>& carried() const { return carried_; }

  void append(std::span<const int> said);  // tokens of a window's segments, timestamps too
  void forget();                           // nothing said so far is used again, but for what is carried

 private:
  std::vector<int> carried_;
  std::vector<int> said_;
};

// The whole prompt: <|startofprev|> and the history if there is any, <|startoftranscript|>, and for a model of several
// languages the tokens of language and task. language_token: negative for an English-only model.
std::vector<int> whole_prompt(std::span<const int> history, const SpecialTokens& special, int language_token,
                              bool translate);

}  // namespace sotto
