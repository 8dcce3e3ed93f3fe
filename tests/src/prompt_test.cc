#include "src/prompt.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace sotto;

namespace {

std::vector<int> count_from(int first, int n) {
  std::vector<int> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<int> join(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("a history is empty until something is said, and keeps the last 223 tokens") {
  PromptHistory history({}, false);
  CHECK(history.tokens().empty());
  history.append(count_from(0, 5));
  CHECK(history.tokens() == count_from(0, 5));
  history.append(count_from(5, 400));
  CHECK(history.tokens() == count_from(405 - 223, 223));
  history.forget();
  CHECK(history.tokens().empty());
}

TEST_CASE("an initial prompt is like something said before, and can be forgotten") {
  PromptHistory history(count_from(1000, 3), false);
  CHECK(history.tokens() == count_from(1000, 3));
  history.append(count_from(0, 2));
  CHECK(history.tokens() == join(count_from(1000, 3), count_from(0, 2)));
  history.append(count_from(2, 220));
  CHECK(history.tokens() == join({1002}, count_from(0, 222)));
  history.forget();
  CHECK(history.tokens().empty());
}

TEST_CASE("a carried initial prompt stands before every window's text and takes its share of the 223") {
  PromptHistory history(count_from(1000, 100), true);
  CHECK(history.tokens() == count_from(1000, 100));
  history.append(count_from(0, 300));
  CHECK(history.tokens() == join(count_from(1000, 100), count_from(300 - 123, 123)));
  history.forget();
  CHECK(history.tokens() == count_from(1000, 100));
}

TEST_CASE("whatever is given, the tail of the initial prompt fits, and with what is said no more than 223 tokens") {
  for (const int length : {222, 223, 224, 600}) {
    for (const bool carry : {false, true}) {
      CAPTURE(length);
      CAPTURE(carry);
      PromptHistory history(count_from(1000, length), carry);
      const int kept = std::min(length, 223);
      CHECK(history.tokens() == count_from(1000 + length - kept, kept));
      history.append(count_from(0, 500));
      CHECK(history.tokens().size() == 223);
      if (carry) CHECK(history.tokens()[0] == 1000 + length - kept);
    }
  }
}

TEST_CASE("the whole prompt in each kind of model") {
  const SpecialTokens english = special_tokens(51864), many = special_tokens(51865);
  CHECK(whole_prompt({}, english, -1, false) == std::vector<int>{50257});
  CHECK(whole_prompt({}, many, 50261, false) == std::vector<int>{50258, 50261, 50359});
  CHECK(whole_prompt({}, many, 50261, true) == std::vector<int>{50258, 50261, 50358});
  CHECK(whole_prompt(std::vector<int>{7, 8}, english, -1, false) == std::vector<int>{50360, 7, 8, 50257});
  CHECK(whole_prompt(std::vector<int>{7}, many, 50259, false) == std::vector<int>{50361, 7, 50258, 50259, 50359});
  CHECK(whole_prompt(count_from(0, 500), many, 50259, false).size() == 1 + 223 + 3);
}
