#include "src/loop_guard.h"

#include <doctest/doctest.h>

#include <vector>

using namespace sotto;

namespace {

constexpr int kVocabulary = 51864;

// The step of a text's only row at which the guard sees a loop; -1: it sees none.
int seen_at(const std::vector<int>& tokens, const std::vector<float>& log_probs, double window_s) {
  LoopGuard guard(special_tokens(kVocabulary), window_s);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (guard.loops({.slot = 0, .rows = {{tokens[i], 0, log_probs[i]}}})) return static_cast<int>(i);
  return -1;
}

std::vector<int> repeated(const std::vector<int>& what, int times) {
  std::vector<int> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), what.begin(), what.end());
  return all;
}

// Log-probs that rise to nearly certain within a few repetitions.
std::vector<float> ever_surer(size_t n) {
  std::vector<float> log_probs;
  for (size_t i = 0; i < n; ++i) log_probs.push_back(-2.0f / static_cast<float>(i + 1));
  return log_probs;
}

}  // namespace

TEST_CASE("what a text ends with, and how often") {
  CHECK(repetition_at_end({1, 2, 3, 3, 3, 3}).times == 4);
  CHECK(repetition_at_end({1, 2, 3, 3, 3, 3}).n_text == 1);
  CHECK(repetition_at_end({9, 1, 2, 3, 1, 2, 3, 1, 2, 3}).times == 3);
  CHECK(repetition_at_end({9, 1, 2, 3, 1, 2, 3, 1, 2, 3}).n_text == 3);
  CHECK(repetition_at_end({1, 2, 3}).times == 1);
  CHECK(repetition_at_end({}).times == 1);
}

TEST_CASE("a loop is seen long before the tokens run out, timestamps in it or not") {
  const std::vector<int> loop = repeated({11, 12, 13, 14, 15}, 40);
  const int at = seen_at(loop, ever_surer(loop.size()), 30);
  CHECK(at > 20);
  CHECK(at < 60);
  std::vector<int> with_timestamps;
  for (int i = 0; i < 20; ++i) {
    const int zero = special_tokens(kVocabulary).first_timestamp;
    for (const int token : {zero + 2 * i, 11, 12, 13, 14, zero + 2 * i + 2}) with_timestamps.push_back(token);
  }
  CHECK(seen_at(with_timestamps, ever_surer(with_timestamps.size()), 30) > 0);
}

TEST_CASE("what can be spoken in the window goes on, however often it is said, while each time is a decision") {
  const std::vector<int> counted = repeated({11}, 40);  // "six six six", 40 times in 30 s
  std::vector<float> decided;
  for (size_t i = 0; i < counted.size(); ++i) decided.push_back(i % 2 ? -0.2f : -0.4f);
  CHECK(seen_at(counted, decided, 30) == -1);
  CHECK(seen_at(counted, decided, 3) > 0);  // but not in 3 s
  const std::vector<int> refrain = repeated({11, 12, 13, 14, 15, 16, 17}, 3);
  CHECK(seen_at(refrain, ever_surer(refrain.size()), 30) == -1);
}
