#include "src/suppress.h"

#include <doctest/doctest.h>

#include <set>

#include "models/error.h"

using namespace sotto;

namespace {

const Tokenizer& many() {
  static const Tokenizer tokenizer(51865);
  return tokenizer;
}

std::set<int> tokens_of(std::string_view written) {
  const auto set = suppressed_tokens(written, many());
  std::set<int> tokens;
  for (int token = 0; token < many().vocabulary(); ++token)
    if ((*set)[token / 32] >> token % 32 & 1) tokens.insert(token);
  return tokens;
}

const std::set<int> kSpecial = {50258, 50358, 50359, 50360, 50361, 50362};  // sot, translate ... no_speech

std::set<int> with_special(std::set<int> tokens) {
  tokens.insert(kSpecial.begin(), kSpecial.end());
  return tokens;
}

}  // namespace

TEST_CASE("special tokens are always suppressed, and nothing else without a list") { CHECK(tokens_of("") == kSpecial); }

TEST_CASE("a list adds its tokens") {
  CHECK(tokens_of("0,31,32,51864") == with_special({0, 31, 32, 51864}));
  CHECK(tokens_of(" 5 , 6 ") == with_special({5, 6}));
}

TEST_CASE("-1 stands for the symbols that aren't speech, and may stand among others") {
  const auto symbols = many().non_speech_tokens();
  const std::set<int> expected = with_special({symbols.begin(), symbols.end()});
  CHECK(expected.size() > 80);
  CHECK(tokens_of("-1") == expected);
  auto more = expected;
  more.insert(1234);
  CHECK(tokens_of("1234,-1") == more);
}

TEST_CASE("what is no token is refused with its name") {
  for (const char* written : {"x", "1,,2", "-2", "51865", "1.5", "99999999999999999999"}) {
    CAPTURE(written);
    CHECK_THROWS_AS(suppressed_tokens(written, many()), Error);
  }
}
