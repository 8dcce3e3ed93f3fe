#include "models/tokenizer.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/utf8.h"

using namespace sotto;
using namespace std::string_view_literals;

namespace {

using Tokens = std::vector<int>;

struct Example {
  std::string_view text;
  Tokens english, multilingual;
};

// Ids as openai-whisper 20250625 encodes these texts.
const Example kExamples[] = {
    {"Hello world",
     {15496, 995},
     {15947, 1002}},
    {"I'LL don't we'll they're",
     {40, 6, 3069, 836, 470, 356, 1183, 484, 821},
     {40, 6, 24010, 500, 380, 321, 603, 436, 434}},
    {" And so my fellow Americans, ask not",
     {843, 523, 616, 5891, 3399, 11, 1265, 407},
     {400, 370, 452, 7177, 6280, 11, 1029, 406}},
    {"2,468.10 ½ Ⅷ",
     {17, 11, 38472, 13, 940, 25208, 2343, 227, 100},
     {17, 11, 16169, 23, 13, 3279, 32653, 672, 227, 100}},
    {"naïve café Straße",
     {2616, 38776, 40304, 15195, 39683, 68},
     {629, 15487, 303, 25118, 43817}},
    {"Здравствуй мир",
     {140, 245, 43666, 21169, 16142, 38857, 21727, 20375, 38857, 35072, 140, 117, 12466, 120, 18849, 21169},
     {43310, 33186, 13514, 20536}},
    {"你好，世界。",
     {19526, 254, 25001, 121, 171, 120, 234, 10310, 244, 45911, 234, 16764},
     {26410, 171, 120, 234, 24486, 1543}},
    {"こんにちは世界",
     {46036, 22174, 28618, 2515, 94, 31676, 10310, 244, 45911, 234},
     {38088, 24486}},
    {"안녕하세요",
     {168, 243, 230, 167, 227, 243, 47991, 246, 168, 226, 116, 168, 248, 242},
     {49200, 12831, 15377}},
    {"مرحبا بالعالم",
     {25405, 26897, 148, 255, 39848, 12919, 17550, 101, 23525, 44690, 23525, 25405},
     {29973, 5016, 3555, 995, 20666, 3615, 45340}},
    {"สวัสดี",
     {19567, 103, 19567, 100, 19567, 109, 19567, 103, 19567, 242, 19567, 113},
     {13715, 7643, 5981, 13715, 9345, 6033}},
    {"नमस्ते",
     {11976, 101, 11976, 106, 11976, 116, 24231, 235, 11976, 97, 24231, 229},
     {35082, 48521, 45938, 27099, 36158, 21981}},
    {"👩\u200d👩\u200d👧\u200d👦🇩🇪♪♪",
     {41840, 102, 447, 235, 41840, 102, 447, 235, 41840, 100, 447, 235, 41840, 99, 8582, 229, 102, 8582, 229, 103,
      17992, 103, 17992, 103},
     {31017, 102, 913, 235, 31017, 102, 913, 235, 31017, 100, 913, 235, 31017, 99, 4222, 229, 102, 4222, 229, 103,
      26130}},
    {"a  b   c\n\n d \t",
     {64, 220, 275, 220, 220, 269, 628, 288, 220, 197},
     {64, 220, 272, 220, 220, 269, 198, 198, 274, 220, 197}},
    {"   ",
     {220, 220, 220},
     {220, 220, 220}},
    {"<|endoftext|><|0.00|>",
     {27, 91, 437, 1659, 5239, 91, 6927, 91, 15, 13, 405, 91, 29},
     {27, 91, 3999, 844, 3828, 91, 29986, 91, 15, 13, 628, 91, 29}},
    {"e\u0301\u3000x\u00a0y",
     {68, 136, 223, 5099, 222, 87, 1849, 88},
     {68, 32797, 756, 222, 87, 126, 254, 88}},
    {"\000\034\177"sv,
     {188, 216, 221},
     {188, 216, 221}},
    {"=====",
     {1421, 28},
     {2945, 2945, 28}},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     {24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 46071},
     {16425, 16425, 16425, 16425, 16425, 16425, 16425, 16425, 16425, 22714}},
    {"\r\n\u2028x",
     {201, 198, 447, 101, 87},
     {201, 198, 913, 101, 87}},
    {" '90s -- \"yes\"",
     {705, 3829, 82, 1377, 366, 8505, 1},
     {922, 7771, 82, 1350, 503, 2346, 1}},
};

std::string bytes_of(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string bytes;
  for (int token : tokens) bytes += tokenizer.bytes(token);
  return bytes;
}

}  // namespace

TEST_CASE("text becomes the tokens the models were trained with, and these become the text again") {
  for (const Example& example : kExamples) {
    CAPTURE(example.text);
    for (int vocabulary : {51864, 51865, 51866}) {
      const Tokenizer tokenizer(vocabulary);
      const Tokens& expected = vocabulary == 51864 ? example.english : example.multilingual;
      CHECK(tokenizer.encode(example.text) == expected);
      CHECK(tokenizer.decode(expected) == example.text);
    }
  }
}

TEST_CASE("every byte of any input comes back, also of what is no UTF-8") {
  std::mt19937 random(1);
  for (int vocabulary : {51864, 51865}) {
    const Tokenizer tokenizer(vocabulary);
    CHECK(tokenizer.encode("").empty());
    for (int round = 0; round < 300; ++round) {
      std::string input(random() % 60, '\0');
      const unsigned mask = round % 3 == 0 ? 0x7F : 0xFF;  // every third input is ASCII
      for (char& c : input) c = static_cast<char>(random() & mask);
      CHECK(bytes_of(tokenizer, tokenizer.encode(input)) == input);
    }
    for (const char* cut : {"\xE2\x99", "a\xC0", "\xFF\xFE", " \xED\xA0\x80", "\xF4\x90\x80\x80"}) {
      CHECK(bytes_of(tokenizer, tokenizer.encode(cut)) == cut);
    }
  }
}

TEST_CASE("a very long word takes no quadratic time") {
  std::string word;
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) word += static_cast<char>('a' + random() % 7);
  const Tokenizer tokenizer(51865);
  CHECK(bytes_of(tokenizer, tokenizer.encode(word)) == word);  // minutes instead of well under a second if it did
}

TEST_CASE("decode leaves special tokens out") {
  const Tokenizer tokenizer(51865);
  const SpecialTokens& special = tokenizer.special();
  CHECK(tokenizer.decode({special.sot, special.first_language, special.transcribe, special.first_timestamp, 15947, 1002,
                          special.first_timestamp + 1500, special.eot}) == "Hello world");
  for (int token = special.eot; token < tokenizer.vocabulary(); ++token) CHECK(tokenizer.bytes(token).empty());
  CHECK(tokenizer.decode({}).empty());
}

TEST_CASE("decode holds back an incomplete character at the end and replaces what is none") {
  const Tokenizer tokenizer(51865);
  const auto decode = [&](std::string_view bytes) {
    Tokens tokens;
    for (char byte : bytes) {
      int token = 0;  // of this single byte: the first 256
      while (tokenizer.bytes(token) != std::string_view(&byte, 1)) ++token;
      REQUIRE(token < 256);
      tokens.push_back(token);
    }
    return tokenizer.decode(tokens);
  };
  CHECK(decode("caf\xC3\xA9") == "caf\u00e9");
  CHECK(decode("caf\xC3") == "caf");
  CHECK(decode("\xE2") == "");
  CHECK(decode("\xE2\x99") == "");
  CHECK(decode("\xE2\x99\xAA") == "\u266a");
  CHECK(decode("a\xF0\x9F\x98") == "a");
  CHECK(decode("a\xF0\x9F\x98z") == "a\uFFFDz");  // one for the three bytes
  CHECK(decode("\x80z") == "\uFFFDz");            // a second byte without a first
  CHECK(decode("z\x80") == "z\uFFFD");            // and no beginning of a character at the end
  CHECK(decode("\xC0\xAF!") == "\uFFFD\uFFFD!");  // overlong
  CHECK(decode("\xED\xA0\x80!") == "\uFFFD\uFFFD\uFFFD!");            // a surrogate
  CHECK(decode("\xF4\x90\x80\x80!") == "\uFFFD\uFFFD\uFFFD\uFFFD!");  // beyond U+10FFFF
  CHECK(decode("\xE2\xE2\x99\xAA") == "\uFFFD\u266a");
  CHECK(decode("\xF0\x9F\xE2\x99") == "\uFFFD");
}

TEST_CASE("what the reference suppresses as non-speech") {
  const Tokens english = {
      1, 2, 7, 8, 9, 10, 14, 25, 26, 27, 28, 29, 31, 58, 59, 60, 61, 62, 63, 90, 91, 92, 93, 357, 366, 438, 532, 685,
      705, 796, 930, 1058, 1220, 1267, 1279, 1303, 1343, 1377, 1391, 1635, 1782, 1875, 2162, 2361, 2488, 3467, 4008,
      4211, 4600, 4808, 5299, 5855, 6329, 7203, 9609, 9959, 10563, 10786, 11420, 11709, 11907, 13163, 13697, 13700,
      14808, 15306, 16410, 16791, 17992, 19203, 19510, 20724, 22305, 22935, 27007, 30109, 30420, 33409, 34949, 40283,
      40493, 40549, 47282, 49146};
  const Tokens multilingual = {
      1, 2, 7, 8, 9, 10, 14, 25, 26, 27, 28, 29, 31, 58, 59, 60, 61, 62, 63, 90, 91, 92, 93, 359, 503, 522, 542, 873,
      893, 902, 918, 922, 931, 1350, 1853, 1982, 2460, 2627, 3246, 3253, 3268, 3536, 3846, 3961, 4183, 4667, 6585,
      6647, 7273, 9061, 9383, 10428, 10929, 11938, 12033, 12331, 12562, 13793, 14157, 14635, 15265, 15618, 16553,
      16604, 18362, 18956, 20075, 21675, 22520, 26130, 26161, 26435, 28279, 29464, 31650, 32302, 32470, 36865, 42863,
      47425, 49870, 50254};
  CHECK(Tokenizer(51864).non_speech_tokens() == english);
  CHECK(Tokenizer(51865).non_speech_tokens() == multilingual);
  CHECK(Tokenizer(51866).non_speech_tokens() == multilingual);
}

TEST_CASE("language tokens") {
  CHECK(Tokenizer(51865).language_token("en") == 50259);
  CHECK(Tokenizer(51865).language_token("su") == 50357);
  CHECK(Tokenizer(51865).language_token("yue") == -1);  // came with large-v3
  CHECK(Tokenizer(51866).language_token("yue") == 50358);
  CHECK(Tokenizer(51866).language_token("german") == -1);  // a name, not a code
  CHECK(Tokenizer(51864).language_token("en") == -1);
}

TEST_CASE("white space is stripped as Unicode defines it") {
  CHECK(strip(" \t\n a b \u3000\u00a0") == "a b");
  CHECK(strip("\u2003") == "");
  CHECK(strip("") == "");
  CHECK(strip("\xFF x \xE2") == "\xFF x \xE2");
}
