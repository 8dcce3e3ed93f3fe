#include "src/loop_guard.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace sotto {
namespace {

constexpr int kLongestPeriod = 60;      // tokens of what is repeated: a sentence or two
constexpr int kFewestTokens = 24;       // a loop is longer than this
constexpr int kFewestTimes = 4;
constexpr double kTokensPerSecond = 8;  // nobody says so much: fast speech has 5, counting fast 6
constexpr int kManyTimes = 8;
constexpr double kSure = -0.1;          // log-prob of a token that is no decision any more

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The repetition that a text ends with, but for a few tokens such as a full stop, and where that begins.
struct Found {
  std::vector<int> what;
  int n_all = 0;  // tokens, all times together
};

Found repetition_near_end(std::vector<int> text) {
  constexpr int kMostBehind = 3;
  Found best;
  for (int left_out = 0; left_out <= kMostBehind && !text.empty(); ++left_out, text.pop_back()) {
    const Repetition found = repetition_at_end(text);
    if (found.times < 2 || found.n_text * found.times <= best.n_all) continue;
    best = {{text.end() - found.n_text, text.end()}, found.n_text * found.times};
  }
  return best;
}

// Whether one is the other, begun at any place in it.
bool same_circle(const std::vector<int>& a, std::vector<int> b) {
  if (a.size() != b.size()) return false;
  b.insert(b.end(), b.begin(), b.end());
  return std::ranges::search(b, a).begin() != b.end();
}

}  // namespace

bool same_repetition(const std::vector<int>& a, const std::vector<int>& b) {
  const Found in_a = repetition_near_end(a);
  return !in_a.what.empty() && same_circle(in_a.what, repetition_near_end(b).what);
}

bool agree_on_repetition(const std::vector<int>& a, const std::vector<int>& b) {
  return same_repetition(a, b) && 4 * repetition_near_end(b).n_all >= 3 * repetition_near_end(a).n_all;
}

Repetition repetition_at_end(const std::vector<int>& text) {
  const int n = static_cast<int>(text.size());
  Repetition best{n, 1};
  int longest = 0;
  for (int period = 1; period <= std::min(kLongestPeriod, n / 2); ++period) {
    int same = 0;  // tokens at the end that stand one period before, too
    while (same + period < n && text[n - 1 - same] == text[n - 1 - same - period]) ++same;
    const int times = 1 + same / period;
    if (times >= 2 && times * period > longest) {
      longest = times * period;
      best = {period, times};
    }
  }
  return best;
}

LoopGuard::LoopGuard(const SpecialTokens& special, double window_s) : special_(special), window_s_(window_s) {}

bool LoopGuard::loops(const Progress& progress) {
  std::vector<Row> rows;
  for (const SampledRow& sampled : progress.rows) {
    if (sampled.token == special_.eot || sampled.parent >= static_cast<int>(rows_.size())) continue;
    Row row = rows_[sampled.parent];
    row.sum += sampled.log_prob;
    ++row.n;
    if (sampled.token < special_.eot) {
      row.text.push_back(sampled.token);
      row.log_probs.push_back(sampled.log_prob);
    }
    rows.push_back(std::move(row));
  }
  rows_ = std::move(rows);
  const auto less = [](const Row& a, const Row& b) { return a.sum / a.n < b.sum / b.n; };
  const auto best = std::max_element(rows_.begin(), rows_.end(), less);
  return best != rows_.end() && is_loop(*best);
}

bool LoopGuard::is_loop(const Row& row) const {
  const Repetition found = repetition_at_end(row.text);
  const int n = found.n_text * found.times;
  if (found.times < kFewestTimes || n < kFewestTokens) return false;
  const std::span<const float> said = std::span(row.log_probs).last(n);
  const double second = mean(said.subspan(found.n_text, found.n_text)), last = mean(said.last(found.n_text));
  if (last < second) return false;
  if (n > kTokensPerSecond * window_s_) return true;
  return found.times >= kManyTimes && last > kSure && !same_repetition(row.text, heard_);
}

}  // namespace sotto
