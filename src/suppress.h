// Tokens that are never sampled.
#pragma once

#include <memory>
#include <string_view>

#include "kernels/network.h"
#include "models/tokenizer.h"

namespace sotto {

// From what the user wrote: a comma list of tokens, where -1 stands for the symbols that aren't speech; and always the
// special tokens that belong into prompts. Throws Error for what is no list of this vocabulary's tokens.
std::shared_ptr<const TokenSet> suppressed_tokens(std::string_view written, const Tokenizer& tokenizer);

// Throws Error for what is no such list of any Whisper's, before there is a model.
void check_suppressed_tokens(std::string_view written);

}  // namespace sotto
