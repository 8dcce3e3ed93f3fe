#include "src/prompt.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
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
  PromptHistory history({{}, count_from(1000, 3)}, false);
  CHECK(history.tokens() == count_from(1000, 3));
  history.append(count_from(0, 2));
  CHECK(history.tokens() == join(count_from(1000, 3), count_from(0, 2)));
  history.append(count_from(2, 220));
  CHECK(history.tokens() == join({1002}, count_from(0, 222)));
  history.forget();
  CHECK(history.tokens().empty());
}

TEST_CASE("a carried initial prompt stands before every window's text and takes its share of the 223") {
  PromptHistory history({{}, count_from(1000, 100)}, true);
  CHECK(history.tokens() == count_from(1000, 100));
  history.append(count_from(0, 300));
  CHECK(history.tokens() == join(count_from(1000, 100), count_from(300 - 123, 123)));
  history.forget();
  CHECK(history.tokens() == count_from(1000, 100));
}

TEST_CASE("hotwords stand before every window's text, behind them a carried initial prompt, and the 223 hold all") {
  PromptHistory history({count_from(2000, 10), count_from(1000, 20)}, false);
  CHECK(history.tokens() == join(count_from(2000, 10), count_from(1000, 20)));
  history.append(count_from(0, 300));
  CHECK(history.tokens() == join(count_from(2000, 10), count_from(300 - 213, 213)));
  history.forget();
  CHECK(history.tokens() == count_from(2000, 10));

  PromptHistory carrying({count_from(2000, 10), count_from(1000, 20)}, true);
  carrying.append(count_from(0, 300));
  CHECK(carrying.tokens() == join(join(count_from(2000, 10), count_from(1000, 20)), count_from(300 - 193, 193)));
  carrying.forget();
  CHECK(carrying.tokens() == join(count_from(2000, 10), count_from(1000, 20)));
}

TEST_CASE("prompt and hotwords share 223 tokens: the ends stay, and what is cut is said") {
  const Tokenizer tokenizer(51864);
  const auto words = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += i + 1 < n ? " word" : " last";
    return text;
  };
  for (const int hotwords : {0, 1, 110, 111, 112, 500}) {
    for (const int initial : {0, 1, 111, 112, 113, 222, 223, 224, 600}) {
      for (const bool carry : {false, true}) {
        CAPTURE(hotwords);
        CAPTURE(initial);
        CAPTURE(carry);
        PromptOptions options;
        options.hotwords = words(hotwords);
        if (initial > 0) options.initial = words(initial);
        std::vector<std::string> warnings;
        const auto warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
        const PromptTexts texts = prompt_texts(tokenizer, options, warn);
        const int kept = std::min(hotwords, 111), room = 223 - kept;
        CHECK(std::ssize(texts.hotwords) == kept);
        CHECK(std::ssize(texts.initial) == std::min(initial, room));
        if (initial > 0) CHECK(texts.initial.back() == tokenizer.encode(" last").front());
        CHECK(std::ssize(warnings) == (hotwords > 111) + (initial > room));
        PromptHistory history(texts, carry);
        CHECK(history.tokens().size() <= 223);
        history.append(count_from(0, 500));
        CHECK(history.tokens().size() == 223);
      }
    }
  }
  PromptOptions blank;
  blank.hotwords = " \n ";
  CHECK(prompt_texts(tokenizer, blank, {}).hotwords.empty());
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
