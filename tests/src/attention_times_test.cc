#include "src/attention_times.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using namespace sotto;

namespace {

using Matrix = std::vector<std::vector<double>>;

// The definition of each step of relative_attention() once more, written to be read, in double.
Matrix slow_relative_attention(const Alignment& alignment, int first, int last) {
  const int n_tokens = alignment.n_tokens, n = alignment.n_frames;
  Matrix result(last - first, std::vector<double>(n));
  for (int head = 0; head < alignment.n_heads; ++head) {
    Matrix weights(n_tokens, std::vector<double>(n));
    for (int token = 0; token < n_tokens; ++token) {
      const float* qk = alignment.qk.data() + (static_cast<size_t>(head) * n_tokens + token) * n;
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += std::exp(static_cast<double>(qk[i]));
      for (int i = 0; i < n; ++i) weights[token][i] = std::exp(static_cast<double>(qk[i])) / sum;
    }
    for (int i = 0; i < n; ++i) {
      double mean = 0, variance = 0;
      for (const auto& row : weights) mean += row[i] / n_tokens;
      for (const auto& row : weights) variance += (row[i] - mean) * (row[i] - mean) / n_tokens;
      for (auto& row : weights) row[i] = (row[i] - mean) / std::sqrt(variance);
    }
    for (int token = first; token < last; ++token)
      for (int i = 0; i < n; ++i) {
        std::vector<double> around = {weights[token][i]};  // fewer than 4 frames can't be mirrored, and stay
        for (int distance = 1; n > 3 && distance <= 3; ++distance)
          for (const int at : {i - distance, i + distance})
            around.push_back(weights[token][at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at]);
        std::sort(around.begin(), around.end());
        result[token - first][i] += around[around.size() / 2] / alignment.n_heads;
      }
  }
  return result;
}

// The path by the recurrence as it is published, over a table of all costs.
std::vector<int> slow_warp(const std::vector<float>& gains, int n_rows, int n_columns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<std::vector<float>> cost(n_rows + 1, std::vector<float>(n_columns + 1, kInfinity));
  std::vector<std::vector<int>> came_by(n_rows + 1, std::vector<int>(n_columns + 1));
  cost[0][0] = 0;
  for (int j = 1; j <= n_columns; ++j)
    for (int i = 1; i <= n_rows; ++i) {
      const float ways[] = {cost[i - 1][j - 1], cost[i - 1][j], cost[i][j - 1]};
      int way = 2;
      if (ways[0] < ways[1] && ways[0] < ways[2]) way = 0;
      if (ways[1] < ways[0] && ways[1] < ways[2]) way = 1;
      cost[i][j] = ways[way] - gains[static_cast<size_t>(i - 1) * n_columns + j - 1];
      came_by[i][j] = way;
    }
  std::vector<int> first_columns(n_rows);
  for (int i = n_rows, j = n_columns; i > 0 && j > 0;) {
    first_columns[i - 1] = j - 1;
    const int way = came_by[i][j];
    i -= way != 2;
    j -= way != 1;
  }
  return first_columns;
}

Alignment random_alignment(int n_heads, int n_tokens, int n_frames, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> scores(0, 4);
  Alignment alignment{n_heads, n_tokens, n_frames, {}, {}};
  alignment.qk.resize(static_cast<size_t>(n_heads) * n_tokens * n_frames);
  for (float& score : alignment.qk) score = scores(random);
  return alignment;
}

// One head, in which each token looks at its own stretch of frames and nowhere else.
Alignment clear_alignment(const std::vector<std::pair<int, int>>& stretches, int n_frames) {
  const int n = static_cast<int>(stretches.size());
  Alignment alignment{1, n, n_frames, std::vector<float>(static_cast<size_t>(n) * n_frames), {}};
  for (int token = 0; token < n; ++token)
    for (int frame = stretches[token].first; frame < stretches[token].second; ++frame)
      alignment.qk[static_cast<size_t>(token) * n_frames + frame] = 8;
  return alignment;
}

}  // namespace

TEST_CASE("relative attention is what its definition says") {
  for (const auto& [n_tokens, n_frames] : {std::pair(9, 50), {30, 200}, {5, 7}, {6, 4}, {6, 3}, {4, 2}}) {
    CAPTURE(n_frames);
    const Alignment alignment = random_alignment(3, n_tokens, n_frames, 1);
    const Matrix wanted = slow_relative_attention(alignment, 2, n_tokens - 1);
    const std::vector<float> given = relative_attention(alignment, 2, n_tokens - 1);
    double worst = 0;
    for (int row = 0; row < n_tokens - 3; ++row)
      for (int i = 0; i < n_frames; ++i)
        worst = std::max(worst, std::abs(given[static_cast<size_t>(row) * n_frames + i] - wanted[row][i]));
    CHECK(worst < 2e-5);  // values lie around 1; single precision over up to 30 tokens
  }
}

TEST_CASE("scores far apart, and frames at which all tokens are alike, give numbers") {
  Alignment alignment = random_alignment(1, 6, 40, 2);
  for (int token = 0; token < 6; ++token) alignment.qk[token * 40 + 7] = 5000;
  for (const float value : relative_attention(alignment, 0, 6)) CHECK(std::isfinite(value));
}

TEST_CASE("the path collects the most") {
  // The best path stays in the first row for two columns, then steps down, then to the last corner.
  const std::vector<float> gains = {5, 5, -1, -1,   //
                                    -1, -1, 5, -1,  //
                                    -1, -1, -1, 5};
  CHECK(warp(gains, 3, 4) == std::vector<int>{0, 2, 3});
  CHECK(warp(std::vector<float>{1, 2, 3}, 1, 3) == std::vector<int>{0});
  CHECK(warp(std::vector<float>{1, 2, 3}, 3, 1) == std::vector<int>{0, 0, 0});
  CHECK(warp(std::vector<float>{1}, 1, 1) == std::vector<int>{0});
}

TEST_CASE("where both ways from the row before are equal the path comes along the row") {
  const std::vector<float> gains = {0, 0, 0,  //
                                    0, 0, 0};
  CHECK(warp(gains, 2, 3) == slow_warp(gains, 2, 3));
}

TEST_CASE("the path is that of the published recurrence, ties among them") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int n_rows = 1 + static_cast<int>(random() % 12), n_columns = 1 + static_cast<int>(random() % 40);
    std::vector<float> gains(static_cast<size_t>(n_rows) * n_columns);
    const bool ties = round % 2;
    for (float& gain : gains) gain = static_cast<float>(random() % (ties ? 3 : 100000));
    CHECK(warp(gains, n_rows, n_columns) == slow_warp(gains, n_rows, n_columns));
  }
}

TEST_CASE("tokens begin where the token before them begins to look") {
  // Prompt, the token before the text, two tokens of text, end-of-transcript.
  const Alignment alignment = clear_alignment({{0, 5}, {0, 40}, {40, 100}, {100, 150}, {0, 1}}, 150);
  const std::vector<double> times_s = token_times_s(alignment, 1);
  REQUIRE(times_s.size() == 3);
  CHECK(times_s[0] == 0);
  CHECK(times_s[1] == doctest::Approx(0.8));
  CHECK(times_s[2] == doctest::Approx(2.0));
}

TEST_CASE("no frame, or fewer frames than tokens") {
  CHECK(token_times_s(random_alignment(2, 5, 0, 4), 1) == std::vector<double>{0, 0, 0});
  const std::vector<double> times_s = token_times_s(random_alignment(2, 12, 4, 5), 1);
  REQUIRE(times_s.size() == 10);
  CHECK(std::is_sorted(times_s.begin(), times_s.end()));
  CHECK(times_s.back() <= 0.08);
}
