#include "src/fallback.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace sotto;

TEST_CASE("temperatures rise to 1 in equal steps") {
  const auto close = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]));
  };
  close(temperature_ladder(0, 0.2), {0, 0.2, 0.4, 0.6, 0.8, 1.0});
  close(temperature_ladder(0.5, 0.25), {0.5, 0.75, 1.0});
  close(temperature_ladder(0, 0.3), {0, 0.3, 0.6, 0.9});
  close(temperature_ladder(0, std::nullopt), {0});
  close(temperature_ladder(1, 0.2), {1});
  close(temperature_ladder(1.5, 0.2), {1.5});
}

TEST_CASE("the best hypothesis: by length, or by the length penalty") {
  // The longer one wins per token (-0.5 against -0.6), and loses with a small alpha, where the sum counts.
  const std::vector<Hypothesis> both = {{.tokens = {1, 2, 3, 4, 5}, .sum_log_prob = -3.0},
                                        {.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, .sum_log_prob = -5.0}};
  CHECK(&best_hypothesis(both, std::nullopt) == &both[1]);
  CHECK(&best_hypothesis(both, 0.0) == &both[0]);
  CHECK(&best_hypothesis(both, 1.0) == &both[0]);  // -3 / (10/6) = -1.8 against -5 / (15/6) = -2

  const std::vector<Hypothesis> equal = {{.tokens = {1}, .sum_log_prob = -1}, {.tokens = {2}, .sum_log_prob = -1}};
  CHECK(&best_hypothesis(equal, std::nullopt) == &equal[0]);
  const std::vector<Hypothesis> empty_first = {{.tokens = {}, .sum_log_prob = -1}, {.tokens = {2}, .sum_log_prob = -9}};
  CHECK(&best_hypothesis(empty_first, std::nullopt) == &empty_first[1]);
}

TEST_CASE("the compression ratio is that of Python's zlib.compress, to the bit") {
  const auto repeat = [](const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  const std::string jfk =
      "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country. ";
  CHECK(compression_ratio("") == 0.0);
  CHECK(compression_ratio("a") == 1.0 / 9);
  CHECK(compression_ratio("He might even have been made amiable himself.") == 45.0 / 51);
  CHECK(compression_ratio("ну вот и всё, что я хотел сказать") == 58.0 / 64);
  CHECK(compression_ratio("six six six six six six six six") == 31.0 / 14);
  CHECK(compression_ratio(repeat("six ", 60)) == 240.0 / 15);
  CHECK(compression_ratio(repeat(jfk, 4).substr(0, 435)) == 435.0 / 88);
}

TEST_CASE("a decoding falls back if it is repetitive or unsure, but not if it is silence") {
  const ThresholdOptions defaults;
  const auto decoded = [](double log_prob, double ratio, double no_speech) {
    return Decoded{.avg_log_prob = log_prob, .compression_ratio = ratio, .no_speech_prob = no_speech};
  };
  CHECK(!needs_fallback(decoded(-0.3, 1.5, 0.01), defaults));
  CHECK(needs_fallback(decoded(-0.3, 2.41, 0.01), defaults));
  CHECK(!needs_fallback(decoded(-0.3, 2.4, 0.01), defaults));  // a threshold itself is not passed
  CHECK(needs_fallback(decoded(-1.01, 1.5, 0.01), defaults));
  CHECK(!needs_fallback(decoded(-1.0, 1.5, 0.01), defaults));
  CHECK(!needs_fallback(decoded(-1.01, 1.5, 0.61), defaults));
  CHECK(!needs_fallback(decoded(-1.01, 9, 0.61), defaults));   // silence goes before repetition
  CHECK(needs_fallback(decoded(-0.3, 9, 0.61), defaults));     // sure of it, so no silence
  CHECK(needs_fallback(decoded(-1.01, 1.5, 0.6), defaults));

  CHECK(!needs_fallback(decoded(-9, 1.5, 0), {.log_prob = std::nullopt}));
  CHECK(!needs_fallback(decoded(-0.3, 9, 0), {.compression_ratio = std::nullopt}));
  CHECK(needs_fallback(decoded(-9, 1.5, 0.9), {.no_speech = std::nullopt}));
}

TEST_CASE("a window is silent if no speech is probable and the text isn't sure") {
  const ThresholdOptions defaults;
  CHECK(is_silence({.avg_log_prob = -1.2, .no_speech_prob = 0.61}, defaults));
  CHECK(is_silence({.avg_log_prob = -1.0, .no_speech_prob = 0.61}, defaults));  // only more than the threshold is sure
  CHECK(!is_silence({.avg_log_prob = -0.99, .no_speech_prob = 0.99}, defaults));
  CHECK(!is_silence({.avg_log_prob = -1.2, .no_speech_prob = 0.6}, defaults));
  CHECK(is_silence({.avg_log_prob = -0.1, .no_speech_prob = 0.61}, {.log_prob = std::nullopt}));
  CHECK(!is_silence({.avg_log_prob = -9, .no_speech_prob = 1}, {.no_speech = std::nullopt}));
}

TEST_CASE("text of a temperature above 0.5 is no prompt") {
  CHECK(fit_for_prompt({.temperature = 0.5}));
  CHECK(!fit_for_prompt({.temperature = 0.6}));
  CHECK(!fit_for_prompt({.temperature = 0, .failed = true}));
}

TEST_CASE("each seed, window and attempt has its own key, always the same") {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (int64_t seek = 0; seek < 10000; seek += 1000)
      for (int attempt = 0; attempt < 6; ++attempt) keys.insert(sample_key(seed, seek, attempt));
  CHECK(keys.size() == 10 * 10 * 6);
  CHECK(sample_key(7, 3000, 2) == sample_key(7, 3000, 2));
}
