#include "src/word_split.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace sotto;

namespace {

using Texts = std::vector<std::string>;

const Tokenizer& multilingual() {
  static const Tokenizer tokenizer(51865);
  return tokenizer;
}

Texts texts(const std::vector<WordTokens>& words) {
  Texts result;
  for (const WordTokens& word : words) result.push_back(word.text);
  return result;
}

Texts split(std::string_view text, std::string_view language) {
  return texts(split_into_words(multilingual().encode(text), multilingual(), language));
}

Texts merged(const Texts& written, std::string_view prepended = "\"'“¿([{-",
             std::string_view appended = "\"'.。,，!！?？:：”)]}、") {
  std::vector<Word> words;
  for (size_t i = 0; i < written.size(); ++i)
    words.push_back({static_cast<double>(i), i + 0.5, written[i], 0.5f});
  merge_punctuation(words, prepended, appended);
  Texts result;
  for (const Word& word : words) result.push_back(word.text);
  return result;
}

// Every token of a text in one word and no other, in order.
void check_whole(const std::vector<int>& tokens, const std::vector<WordTokens>& words) {
  int at = 0;
  std::string text;
  for (const WordTokens& word : words) {
    CHECK(word.begin == at);
    CHECK(word.end > word.begin);
    at = word.end;
    text += word.text;
  }
  CHECK(at == static_cast<int>(tokens.size()));
  CHECK(text == multilingual().decode(tokens));
}

}  // namespace

TEST_CASE("words begin at spaces, punctuation stands alone") {
  CHECK(split(" Hello, world. It's 3:45!", "en") ==
        Texts{" Hello", ",", " world", ".", " It's", " 3", ":45", "!"});
  CHECK(split(" Unbelievably antidisestablishmentarian", "en") == Texts{" Unbelievably", " antidisestablishmentarian"});
  CHECK(split(" Grüße aus Köln", "de") == Texts{" Grüße", " aus", " Köln"});
  CHECK(split(" ¿Dónde está?", "es") == Texts{" ¿Dónde", " está", "?"});
  CHECK(split(" Здравствуй, мир", "ru") == Texts{" Здравствуй", ",", " мир"});
  CHECK(split(" 안녕하세요 여러분", "ko") == Texts{" 안녕하세요", " 여러분"});
  CHECK(split(" नमस्ते दुनिया", "hi") == Texts{" नमस्ते", " दुनिया"});
  CHECK(split("", "en").empty());
}

TEST_CASE("languages without spaces are split where a token begins with a character") {
  CHECK(split("你好，世界。", "zh") == Texts{"你好", "，", "世界", "。"});
  CHECK(split("こんにちは世界", "ja") == Texts{"こんにちは", "世界"});
  CHECK(split("你好，世界。", "en") == Texts{"你好，世界。"});
  for (const std::string_view code : {"zh", "ja", "th", "lo", "my", "yue", "km", "bo"}) {
    CAPTURE(code);
    CHECK(split(" one two", code) == Texts{" one", " two"});
    CHECK(split("龘龘龘", code).size() == 3);  // several tokens each
  }
}

TEST_CASE("no word begins inside of a character that a reader sees as one") {
  const std::string thai = "ที่นี่";  // two syllables: consonant, vowel and tone mark above it
  for (const std::string& word : split(thai, "th")) CHECK((word == "ที่" || word == "นี่" || word == thai));
  const std::string family = "👨‍👩‍👧", flag = "🇨🇭", thumb = "👍🏽", accent = "e\u0301";
  CHECK(split(family + flag + thumb, "zh") == Texts{family, flag, thumb});
  for (const std::string& word : split("ab" + accent + "c", "ja")) CHECK(word.find('e') == word.find("e\u0301"));
  CHECK(split(" caf" + accent + ".", "fr") == Texts{" caf" + accent, "."});
}

TEST_CASE("bytes that form no character are kept, an incomplete one at the end is left out") {
  const Tokenizer& tokenizer = multilingual();
  const std::vector<int> dragon = tokenizer.encode("龘");  // three bytes in more than one token
  REQUIRE(dragon.size() > 1);
  std::vector<int> tokens = tokenizer.encode(" a");
  tokens.push_back(dragon[0]);
  const std::vector<int> rest = tokenizer.encode(" b");
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  CHECK(texts(split_into_words(tokens, tokenizer, "en")) == Texts{" a\uFFFD", " b"});
  check_whole(tokens, split_into_words(tokens, tokenizer, "zh"));

  tokens.push_back(dragon[0]);
  const auto words = split_into_words(tokens, tokenizer, "zh");
  CHECK(texts(words).back() == " b");
  check_whole(tokens, words);
  check_whole({dragon[0]}, split_into_words(std::vector{dragon[0]}, tokenizer, "en"));
}

TEST_CASE("words of any tokens are the text") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> tokens(random() % 30);
    for (int& token : tokens) token = static_cast<int>(random() % (round % 2 ? 256 : multilingual().special().eot));
    check_whole(tokens, split_into_words(tokens, multilingual(), round % 3 ? "en" : "th"));
  }
}

TEST_CASE("punctuation joins the word it belongs to") {
  CHECK(merged({" Hello", ",", " world", "."}) == Texts{" Hello,", " world."});
  CHECK(merged({" He", " said", ",", " \"", "Yes", ".", "\"", " Then"}) ==
        Texts{" He", " said,", " \"Yes.\"", " Then"});
  CHECK(merged({" ¿", "Dónde", " está", "?"}) == Texts{" ¿Dónde", " está?"});
  CHECK(merged({"你好", "，", "世界", "。"}) == Texts{"你好，", "世界。"});
  CHECK(merged({" (", " [", "a", "]", ")"}) == Texts{" ( [a])"});
  CHECK(merged({",", " a"}) == Texts{",", " a"});
  CHECK(merged({" a", " -"}) == Texts{" a", " -"});  // nothing comes after it
  CHECK(merged({}).empty());
}

TEST_CASE("which punctuation joins is for the user to say") {
  CHECK(merged({" a", ",", " b", "!"}, "", "!") == Texts{" a", ",", " b!"});
  CHECK(merged({" <", "a", ">"}, "<", ">") == Texts{" <a>"});
}

TEST_CASE("a word keeps its time when punctuation joins it") {
  std::vector<Word> words = {{0, 1, " \"", 0.1f}, {1, 2, "Yes", 0.9f}, {2, 3, ".", 0.4f}};
  merge_punctuation(words, "\"", ".");
  REQUIRE(words.size() == 1);
  CHECK(words[0].text == " \"Yes.");
  CHECK(words[0].start_s == 1);
  CHECK(words[0].end_s == 2);
  CHECK(words[0].probability == 0.9f);
}
