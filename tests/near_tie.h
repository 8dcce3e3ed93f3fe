// How near two engines were to taking the same token where they part.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "kernels/decode.h"
#include "kernels/network.h"

// The log-probs by which one token was taken rather than another, after the same tokens: their difference, or where one
// is text and the other a timestamp, that of what decides between the two kinds: the best text against all timestamps
// together. The slot holds the window; prompt ends where sampling began.
inline double gap_between(sotto::Network& network, int slot, const std::vector<int>& prompt,
                          std::span<const int> sampled, int one, int other, const sotto::TokenSet& suppress) {
  const sotto::SpecialTokens special = sotto::special_tokens(network.dims().vocabulary);
  const sotto::Rules rules = {.vocabulary = network.dims().vocabulary,
                              .eot = special.eot,
                              .no_timestamps = special.no_timestamps,
                              .first_timestamp = special.first_timestamp,
                              .max_initial_timestamp = 50,
                              .timestamps = true,
                              .suppress_blank = true,
                              .suppress = suppress.data()};
  std::vector<int> tokens = prompt;
  tokens.insert(tokens.end(), sampled.begin(), sampled.end());
  sotto::RowState row = sotto::first_row_state(0);
  for (const int token : sampled) row = sotto::row_after(rules, row, token, 0);

  const std::vector<float> all = network.logits(slot, tokens);
  const float* logits = all.data() + (tokens.size() - 1) * rules.vocabulary;
  const bool same_kind = (one < special.first_timestamp) == (other < special.first_timestamp);
  if (same_kind) return std::abs(logits[one] - logits[other]);

  const sotto::Allowed allowed = sotto::allowed_next(rules, row);
  double best_text = -INFINITY, timestamps = 0;
  for (int token = allowed.text_begin; token < special.first_timestamp; ++token)
    if (sotto::may_follow(rules, allowed, token)) best_text = std::max<double>(best_text, logits[token]);
  for (int token = allowed.timestamp_begin; token < allowed.timestamp_end; ++token)
    timestamps += std::exp(static_cast<double>(logits[token]) - best_text);
  return std::abs(std::log(timestamps));
}
