#include "src/suppress.h"

#include <charconv>
#include <vector>

#include "models/error.h"
#include "models/utf8.h"

namespace sotto {
namespace {

int parse_token(std::string_view written, int vocabulary) {
  int token = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), token);
  if (error != std::errc() || end != written.data() + written.size() || token < -1 || token >= vocabulary)
    throw Error("'" + std::string(written) + "' can't be suppressed: give tokens from 0 to " +
                std::to_string(vocabulary - 1) + ", or -1 for all that aren't speech, with commas between them");
  return token;
}

std::vector<int> parse_tokens(std::string_view written, int vocabulary) {
  std::vector<int> tokens;
  std::string_view rest = strip(written);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    tokens.push_back(parse_token(strip(rest.substr(0, comma)), vocabulary));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return tokens;
}

}  // namespace

void check_suppressed_tokens(std::string_view written) {
  constexpr int kLargestVocabulary = 51866;
  parse_tokens(written, kLargestVocabulary);
}

std::shared_ptr<const TokenSet> suppressed_tokens(std::string_view written, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  auto set = std::make_shared<TokenSet>((tokenizer.vocabulary() + 31) / 32);
  for (const int token : {special.transcribe, special.translate, special.sot, special.sot_prev, special.sot_lm,
                          special.no_speech})
    add_token(*set, token);
  for (const int token : parse_tokens(written, tokenizer.vocabulary())) {
    if (token >= 0)
      add_token(*set, token);
    else
      for (const int symbol : tokenizer.non_speech_tokens()) add_token(*set, symbol);
  }
  return set;
}

}  // namespace sotto
