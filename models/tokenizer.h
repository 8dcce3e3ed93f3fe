// Text to tokens and back: byte-level BPE with Whisper's three vocabularies, built into the program.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/dims.h"

namespace sotto {

class Tokenizer {
 public:
  explicit Tokenizer(int vocabulary);  // 51864, 51865 or 51866
  ~Tokenizer();

  const SpecialTokens& special() const { return special_; }
  int vocabulary() const { return vocabulary_; }

  // Tokens of UTF-8 text. Text that looks like a special token ("<|endoftext|>") is plain text.
  std::vector<int> encode(std::string_view text) const;

  // The bytes of one text token; empty for special tokens. One token may hold part of a character.
  std::string_view bytes(int token) const;

  // Text of tokens, special tokens left out. Bytes that form no UTF-8 become U+FFFD, as the reference does; a
  // character that is incomplete at the very end is left out.
  std::string decode(const std::vector<int>& tokens) const;

  // Tokens the reference suppresses by default (-1 in its list): symbols that stand for non-speech.
  std::vector<int> non_speech_tokens() const;

  // The token of a language code, or -1 if this vocabulary has none. English-only models take no language token, so
  // theirs has none.
  int language_token(std::string_view code) const;

 private:
  struct Vocabulary;
  int vocabulary_;
  SpecialTokens special_;
  std::shared_ptr<const Vocabulary> words_;
};

}  // namespace sotto
