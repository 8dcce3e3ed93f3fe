#include "src/fallback.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <zlib.h>

#include "models/error.h"

namespace sotto {

std::vector<double> temperature_ladder(double first, std::optional<double> step) {
  std::vector<double> temperatures = {first};
  if (step) {
    CHECK_INVARIANT(*step > 0);
    for (int i = 1; first + i * *step < 1.0 + 1e-6; ++i) temperatures.push_back(first + i * *step);
  }
  return temperatures;
}

const Hypothesis& best_hypothesis(std::span<const Hypothesis> hypotheses, std::optional<double> length_penalty) {
  CHECK_INVARIANT(!hypotheses.empty());
  const auto score = [&](const Hypothesis& hypothesis) {
    const double length = static_cast<double>(hypothesis.tokens.size());
    if (length_penalty) return hypothesis.sum_log_prob / std::pow((5 + length) / 6, *length_penalty);
    return length > 0 ? hypothesis.sum_log_prob / length : -HUGE_VAL;
  };
  size_t best = 0;
  for (size_t i = 1; i < hypotheses.size(); ++i)
    if (score(hypotheses[i]) > score(hypotheses[best])) best = i;
  return hypotheses[best];
}

double compression_ratio(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<Bytef> compressed(size);
  const int status = compress2(compressed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(),
                               Z_DEFAULT_COMPRESSION);
  CHECK_INVARIANT(status == Z_OK);
  return static_cast<double>(text.size()) / static_cast<double>(size);
}

namespace {

bool unsure(const Decoded& decoded, const ThresholdOptions& thresholds) {
  return thresholds.log_prob && decoded.avg_log_prob < *thresholds.log_prob;
}

bool sounds_silent(const Decoded& decoded, const ThresholdOptions& thresholds) {
  return thresholds.no_speech && decoded.no_speech_prob > *thresholds.no_speech;
}

}  // namespace

bool repetitive(const Decoded& decoded, const ThresholdOptions& thresholds) {
  return decoded.looped || (thresholds.compression_ratio && decoded.compression_ratio > *thresholds.compression_ratio);
}

bool needs_fallback(const Decoded& decoded, const ThresholdOptions& thresholds) {
  if (sounds_silent(decoded, thresholds) && unsure(decoded, thresholds)) return false;
  return decoded.too_fast || repetitive(decoded, thresholds) || unsure(decoded, thresholds);
}

bool merely_repetitive(const Decoded& decoded, const ThresholdOptions& thresholds) {
  return repetitive(decoded, thresholds) && !decoded.looped && !decoded.too_fast && decoded.ended &&
         !unsure(decoded, thresholds);
}

Decoded best_of_failed(std::span<const Decoded> attempts, const ThresholdOptions& thresholds) {
  CHECK_INVARIANT(!attempts.empty());
  const auto rank = [&](const Decoded& decoded) {
    return std::tuple(!decoded.too_fast, !repetitive(decoded, thresholds), decoded.ended, decoded.avg_log_prob);
  };
  return *std::ranges::max_element(attempts, {}, rank);
}

bool is_silence(const Decoded& decoded, const ThresholdOptions& thresholds) {
  const bool sure = thresholds.log_prob && decoded.avg_log_prob > *thresholds.log_prob;
  return sounds_silent(decoded, thresholds) && !sure;
}

uint64_t sample_key(uint64_t seed, int64_t window_seek, int attempt) {
  uint64_t key = seed;
  for (const uint64_t part : {static_cast<uint64_t>(window_seek), static_cast<uint64_t>(attempt)}) {
    key += part + 0x9e3779b97f4a7c15u;  // splitmix64 (Steele, Lea, Flood: Fast splittable generators, 2014)
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    key ^= key >> 31;
  }
  return key;
}

}  // namespace sotto
