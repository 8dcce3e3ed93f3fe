#include "src/attention_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "models/dims.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kReach = 3;  // frames to each side in the median
constexpr double kPositionsPerSecond = kAudioContext / (kMelFrames * kMelHop / double(kSampleRate));  // 50

inline float smaller(float a, float b) { return a < b ? a : b; }
inline float larger(float a, float b) { return a < b ? b : a; }

inline void order(float& low, float& high) {
  const float a = low, b = high;
  low = smaller(a, b);
  high = larger(a, b);
}

// e^x for -80 <= x <= 0 to about 2e-7 of it, written such that compilers make vector code of a loop over it, which they
// don't of std::exp: 2^n e^r with |r| <= ln 2 / 2, where n is rounded by the last bits of a large number.
inline float exp_not_positive(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23
  const float n = (x * 1.44269504f + kRounder) - kRounder;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, so that nothing is lost
  const float series =
      1 + r * (1 + r * (1 / 2.0f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f))))));
  return series * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

void softmax(const float* logits, int n, float* out) {
  constexpr int kLanes = 16;  // side by side, again for vector code
  constexpr float kLeast = -80;  // e to it is as good as 0, and still a normal number
  float largest[kLanes], sums[kLanes] = {};
  std::fill_n(largest, kLanes, logits[0]);
  const int whole = n - n % kLanes;
  for (int i = 0; i < whole; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) largest[lane] = larger(largest[lane], logits[i + lane]);
  for (int i = whole; i < n; ++i) largest[0] = larger(largest[0], logits[i]);
  const float most = *std::max_element(largest, largest + kLanes);

  for (int i = 0; i < n; ++i) out[i] = larger(logits[i] - most, kLeast);
  for (int i = 0; i < n; ++i) out[i] = exp_not_positive(out[i]);
  for (int i = 0; i < whole; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += out[i + lane];
  for (int i = whole; i < n; ++i) sums[0] += out[i];
  const float scale = 1 / std::accumulate(sums, sums + kLanes, 0.0f);
  for (int i = 0; i < n; ++i) out[i] *= scale;
}

// The median of the 7 values from x on: of any 5 of 7 neither the smallest nor the largest is it, and once these are
// gone the same holds of 4 of 5, and of 3 of 3.
inline float median_of_7(const float* x) {
  float a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5];
  order(a, b), order(c, d), order(a, c), order(b, d);
  e = smaller(larger(a, e), d);  // left: b, c, e
  order(b, c), order(e, f);
  e = larger(b, e);
  c = smaller(c, f);
  return larger(smaller(c, e), smaller(larger(c, e), x[6]));
}

// Subtracts from each column of values[n_rows][n] its mean, and divides by its standard deviation.
void standardise_columns(std::vector<float>& values, int n_rows, int n) {
  std::vector<float> mean(n), scale(n);
  for (int row = 0; row < n_rows; ++row)
    for (int i = 0; i < n; ++i) mean[i] += values[int64_t{row} * n + i];
  for (float& sum : mean) sum /= static_cast<float>(n_rows);
  for (int row = 0; row < n_rows; ++row)
    for (int i = 0; i < n; ++i) {
      const float difference = values[int64_t{row} * n + i] - mean[i];
      scale[i] += difference * difference;
    }
  for (float& value : scale) {
    const float deviation = std::sqrt(value / static_cast<float>(n_rows));
    value = deviation > 0 ? 1 / deviation : 0;  // tokens that all look alike at a frame tell nothing about it
  }
  for (int row = 0; row < n_rows; ++row)
    for (int i = 0; i < n; ++i) values[int64_t{row} * n + i] = (values[int64_t{row} * n + i] - mean[i]) * scale[i];
}

// Adds the running median of row[n] to sum[n]. Beyond the ends the row is continued as in a mirror; one too short for
// that is left as it is. padded: scratch [n + 2 * kReach].
void add_median(const float* row, int n, std::vector<float>& padded, float* __restrict sum) {
  if (n <= kReach) {
    for (int i = 0; i < n; ++i) sum[i] += row[i];
    return;
  }
  std::copy(row, row + n, padded.begin() + kReach);
  for (int i = 1; i <= kReach; ++i) {
    padded[kReach - i] = row[i];
    padded[kReach + n - 1 + i] = row[n - 1 - i];
  }
  const float* from = padded.data();
  for (int i = 0; i < n; ++i) sum[i] += median_of_7(from + i);
}

enum Step : uint8_t { both, next_row, next_column };

}  // namespace

std::vector<float> relative_attention(const Alignment& alignment, int first, int last) {
  const int n_tokens = alignment.n_tokens, n_frames = alignment.n_frames;
  CHECK_INVARIANT(0 <= first && first <= last && last <= n_tokens);
  std::vector<float> result(int64_t{last - first} * n_frames);
  if (n_frames == 0) return result;
  std::vector<float> weights(int64_t{n_tokens} * n_frames), padded(n_frames + 2 * kReach);
  for (int head = 0; head < alignment.n_heads; ++head) {
    const float* qk = alignment.qk.data() + int64_t{head} * n_tokens * n_frames;
    for (int64_t token = 0; token < n_tokens; ++token)
      softmax(qk + token * n_frames, n_frames, weights.data() + token * n_frames);
    standardise_columns(weights, n_tokens, n_frames);
    for (int64_t token = first; token < last; ++token)
      add_median(weights.data() + token * n_frames, n_frames, padded, result.data() + (token - first) * n_frames);
  }
  for (float& value : result) value /= static_cast<float>(alignment.n_heads);
  return result;
}

std::vector<int> warp(std::span<const float> gains, int n_rows, int n_columns) {
  CHECK_INVARIANT(n_rows > 0 && n_columns > 0 && gains.size() == static_cast<size_t>(int64_t{n_rows} * n_columns));
  constexpr float kNoWay = std::numeric_limits<float>::infinity();
  std::vector<Step> steps(gains.size());  // by which the cheapest path comes to each place
  std::vector<float> above(n_columns + 1, kNoWay), costs(n_columns + 1, kNoWay);  // from one column before the first
  above[0] = 0;
  for (int row = 0; row < n_rows; ++row) {
    const float* gain = gains.data() + int64_t{row} * n_columns;
    Step* step = steps.data() + int64_t{row} * n_columns;
    costs[0] = kNoWay;
    for (int column = 0; column < n_columns; ++column) {
      const float diagonal = above[column], down = above[column + 1], along = costs[column];
      const float from_above = diagonal == down ? kNoWay : std::min(diagonal, down);
      step[column] = !(from_above < along) ? next_column : diagonal < down ? both : next_row;
      costs[column + 1] = std::min(from_above, along) - gain[column];
    }
    std::swap(above, costs);
  }

  std::vector<int> first_columns(n_rows);
  for (int row = n_rows - 1, column = n_columns - 1; row >= 0 && column >= 0;) {
    first_columns[row] = column;
    const Step step = steps[int64_t{row} * n_columns + column];
    if (step != next_column) --row;
    if (step != next_row) --column;
  }
  return first_columns;
}

std::vector<double> token_times_s(const Alignment& alignment, int first) {
  const int n_rows = alignment.n_tokens - 1 - first;
  std::vector<double> times_s(n_rows);
  if (alignment.n_frames == 0) return times_s;
  const std::vector<int> frames = warp(relative_attention(alignment, first, first + n_rows), n_rows, alignment.n_frames);
  for (int row = 0; row < n_rows; ++row) times_s[row] = frames[row] / kPositionsPerSecond;
  return times_s;
}

}  // namespace sotto
