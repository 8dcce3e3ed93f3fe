// The rules, candidates and row updates of kernels/decode.h against a second writing of them that works on whole token
// sequences with containers, as the reference does.
#include "kernels/decode.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using namespace sotto;

namespace {

using Tokens = std::vector<int>;

// A small vocabulary with the places of the big ones: text, end-of-transcript, other specials, timestamps.
constexpr int kVocabulary = 320, kEot = 230, kNoTimestamps = 241, kFirstTimestamp = 242;
constexpr double kNear = 1e-4;  // scores of f32 sums of some 30 terms below 20 differ by less; closer ones are ties

struct Case {
  Rules rules = {kVocabulary, kEot, kNoTimestamps, kFirstTimestamp, 50, true, true, nullptr};
  std::vector<uint32_t> suppress = std::vector<uint32_t>(kVocabulary / 32);
  uint64_t seed = 0;
  float eot_bias = 0, timestamp_bias = 0;

  bool suppressed(int token) const { return suppress[token / 32] >> token % 32 & 1; }

  // Logits of what follows a sequence: a function of the sequence alone.
  std::vector<float> logits(const Tokens& tokens) const {
    uint64_t hash = seed;
    for (int token : tokens) hash = (hash ^ static_cast<uint64_t>(token + 1)) * 0x9E3779B97F4A7C15u + (hash >> 29);
    std::mt19937_64 random(hash);
    std::normal_distribution<float> normal(0, 2.5f);
    std::vector<float> result(kVocabulary);
    for (float& logit : result) logit = normal(random);
    result[kEot] += eot_bias;
    for (int t = kFirstTimestamp; t < kVocabulary; t++) result[t] += timestamp_bias;
    return result;
  }
};

Case random_case(std::mt19937& random) {
  Case c;
  c.seed = random();
  c.rules.timestamps = random() % 4 != 0;
  c.rules.suppress_blank = random() % 4 != 0;
  const int limits[] = {50, 0, 2, -1, 500};
  c.rules.max_initial_timestamp = limits[random() % 5];
  for (int i = random() % 40; i > 0; i--) {
    const int token = random() % kVocabulary;
    c.suppress[token / 32] |= 1u << token % 32;
  }
  c.eot_bias = static_cast<float>(random() % 10);
  c.timestamp_bias = static_cast<float>(random() % 8) - 4;
  return c;
}

// ---- The second writing --------------------------------------------------------------------------------------------

// Whether each token may follow, by the rules that look at one sequence; the mass rule apart.
std::vector<bool> allowed_by_hand(const Case& c, const Tokens& sampled) {
  std::vector<bool> allowed(kVocabulary, true);
  const auto forbid = [&](int first, int last) { std::fill(allowed.begin() + first, allowed.begin() + last, false); };
  for (int token = 0; token < kVocabulary; token++) {
    if (c.suppressed(token)) allowed[token] = false;
  }
  const bool first = sampled.empty();
  if (first && c.rules.suppress_blank) allowed[kBlankToken] = allowed[kEot] = false;
  if (!c.rules.timestamps) return allowed;
  allowed[kNoTimestamps] = false;
  const auto is_timestamp = [](int token) { return token >= kFirstTimestamp; };
  const bool last = !first && is_timestamp(sampled.back());
  const bool before = sampled.size() < 2 || is_timestamp(sampled[sampled.size() - 2]);
  if (last && before) forbid(kFirstTimestamp, kVocabulary);
  if (last && !before) forbid(0, kEot);
  const auto newest = std::find_if(sampled.rbegin(), sampled.rend(), is_timestamp);
  if (newest != sampled.rend()) forbid(kFirstTimestamp, last && !before ? *newest : *newest + 1);
  if (first) {
    forbid(0, kFirstTimestamp);
    const int limit = c.rules.max_initial_timestamp;
    if (limit >= 0) forbid(std::min(kFirstTimestamp + limit + 1, kVocabulary), kVocabulary);
  }
  return allowed;
}

struct LogProbs {
  std::vector<double> of;  // -infinity: masked
  bool near_tie = false;   // the mass rule could have gone either way
};

LogProbs log_probs_by_hand(const Case& c, const Tokens& sampled) {
  const std::vector<float> logits = c.logits(sampled);
  const std::vector<bool> allowed = allowed_by_hand(c, sampled);
  LogProbs result{std::vector<double>(kVocabulary, -INFINITY)};
  for (int t = 0; t < kVocabulary; t++) {
    if (allowed[t]) result.of[t] = logits[t];
  }
  const auto log_sum = [&](int first) {
    double sum = 0;
    for (int t = first; t < kVocabulary; t++) sum += std::exp(result.of[t]);
    return std::log(sum);
  };
  if (c.rules.timestamps) {
    const double mass = log_sum(kFirstTimestamp);
    const double text = *std::max_element(result.of.begin(), result.of.begin() + kFirstTimestamp);
    result.near_tie = std::abs(mass - text) < kNear;
    if (mass > text) std::fill_n(result.of.begin(), kFirstTimestamp, -INFINITY);
  }
  const double sum = log_sum(0);
  for (double& log_prob : result.of) log_prob -= sum;
  return result;
}

std::vector<int> best_tokens(const LogProbs& log_probs, size_t n) {
  std::vector<int> order;
  for (int t = 0; t < kVocabulary; t++) {
    if (log_probs.of[t] > -INFINITY) order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return log_probs.of[a] > log_probs.of[b]; });
  if (order.size() > n) order.erase(order.begin() + n, order.end());
  return order;
}

struct Sequence {
  Tokens tokens;
  double sum = 0;
};

struct Search {
  std::vector<Sequence> live, finished;
  bool done = false, near_tie = false;
};

// One step of beam search over whole sequences.
void step_by_hand(const Case& c, int beams, size_t max_finished, Search& search) {
  std::vector<Sequence> candidates;
  for (const Sequence& beam : search.live) {
    const LogProbs log_probs = log_probs_by_hand(c, beam.tokens);
    search.near_tie |= log_probs.near_tie;
    for (int token : best_tokens(log_probs, beams + 1)) {
      candidates.push_back({beam.tokens, beam.sum + log_probs.of[token]});
      candidates.back().tokens.push_back(token);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.sum > b.sum; });
  for (size_t i = 1; i < candidates.size(); i++) {
    search.near_tie |= candidates[i - 1].sum - candidates[i].sum < kNear;
  }
  std::vector<Sequence> next;
  for (const Sequence& candidate : candidates) {
    if (candidate.tokens.back() != kEot) {
      next.push_back(candidate);
      if (static_cast<int>(next.size()) == beams) break;
    } else if (search.finished.size() < max_finished) {
      search.finished.push_back(candidate);
      search.finished.back().tokens.pop_back();
    }
  }
  if (!next.empty()) search.live = next;
  search.done = next.empty() || search.finished.size() >= max_finished;
}

// ---- Driving decode.h ----------------------------------------------------------------------------------------------

Tokens tokens_of(const SlotRows& slot, int n_tokens, int row) {
  Tokens tokens(n_tokens);
  row_tokens(slot, n_tokens, row, tokens.data());
  return tokens;
}

// Candidates of one row, scanned in parts.
Choices choices_of(const SlotRows& slot, int row, const std::vector<float>& logits, int part_size) {
  Scan all, part;
  clear_scan(all);
  const int limit = choices_wanted(slot);
  for (int first = 0; first < kVocabulary; first += part_size) {
    clear_scan(part);
    scan_part(slot.rules, allowed_next(slot.rules, slot.row[row]), ranking_of(slot, row), logits.data(), first,
              std::min(first + part_size, kVocabulary), limit, part);
    merge_scans(all, part, limit);
  }
  Choices choices;
  choose(slot.rules, all, limit, choices);
  return choices;
}

void step(const Case& c, SlotRows& slot, int part_size) {
  std::vector<Choices> choices;
  for (int i = 0; i < slot.n_live; i++) {
    const Tokens tokens = tokens_of(slot, slot.n_sampled, slot.n_sampled ? i : 0);
    choices.push_back(choices_of(slot, i, c.logits(tokens), part_size));
  }
  UpdateSpace space;
  update_rows(slot, choices.data(), space);
}

void start(const Case& c, SlotRows& slot, int rows, float patience, float temperature, int limit) {
  slot.rules = c.rules;
  slot.rules.suppress = c.suppress.data();
  slot.temperature = temperature;
  slot.sample_key = c.seed;
  slot.n_rows = rows;
  slot.max_finished = finished_wanted(rows, patience);
  slot.token_limit = limit;
  start_rows(slot);
}

bool same(const SlotRows& slot, const Search& search) {
  if (slot.n_live != static_cast<int>(search.live.size())) return false;
  if (slot.n_finished != static_cast<int>(search.finished.size())) return false;
  for (int i = 0; i < slot.n_live; i++) {
    if (tokens_of(slot, slot.n_sampled, i) != search.live[i].tokens) return false;
    if (std::abs(slot.row[i].sum_log_prob - search.live[i].sum) > kNear) return false;
  }
  for (int i = 0; i < slot.n_finished; i++) {
    if (tokens_of(slot, slot.finished[i].n_tokens, slot.finished[i].row) != search.finished[i].tokens) return false;
    if (std::abs(slot.finished[i].sum_log_prob - search.finished[i].sum) > kNear) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a row's 16 bytes allow the tokens that its whole sequence allows") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; trial++) {
    Case c = random_case(random);
    c.rules.suppress = c.suppress.data();
    Tokens tokens;
    RowState row = first_row_state(0);
    for (int n = random() % 12; n >= 0; n--) {
      const Allowed allowed = allowed_next(c.rules, row);
      const std::vector<bool> by_hand = allowed_by_hand(c, tokens);
      for (int t = 0; t < kVocabulary; t++) {
        const bool in_range = t < kFirstTimestamp ? t >= allowed.text_begin
                                                  : t >= allowed.timestamp_begin && t < allowed.timestamp_end;
        const bool may = in_range && may_follow(c.rules, allowed, t);
        REQUIRE_MESSAGE(may == by_hand[t], "token " << t << " after " << tokens.size() << " tokens, trial " << trial);
      }
      // Any token, allowed or not: the state must stand for the sequence whatever it is.
      const int token = random() % 2 ? kFirstTimestamp + random() % (kVocabulary - kFirstTimestamp) : random() % kEot;
      tokens.push_back(token);
      row = row_after(c.rules, row, token, 0);
    }
  }
}

TEST_CASE("beam search keeps the same beams and finished sequences as one over whole sequences") {
  std::mt19937 random(2);
  int near_ties = 0, with_finished = 0, full = 0;
  constexpr int kTrials = 1500;
  SlotRows slot;
  for (int trial = 0; trial < kTrials; trial++) {
    const Case c = random_case(random);
    const int beams = 2 + random() % 6, limit = 1 + random() % 12;
    const float patience = random() % 3 == 0 ? 2.0f : random() % 3 == 0 ? 0.5f : 1.0f;
    start(c, slot, beams, patience, 0, limit);
    Search search{{Sequence{}}, {}};
    const int part_size = 1 + random() % kVocabulary;
    int steps = 0;
    while (!slot.done) {
      step(c, slot, part_size);
      step_by_hand(c, beams, slot.max_finished, search);
      steps++;
      if (search.near_tie) break;
      REQUIRE_MESSAGE(same(slot, search), "trial " << trial << ", step " << steps);
      REQUIRE(slot.done == (search.done || steps == limit));
    }
    near_ties += search.near_tie;
    with_finished += slot.n_finished > 0;
    full += slot.n_finished >= slot.max_finished;
  }
  CHECK(near_ties < kTrials / 5);  // the rest was compared to its end
  CHECK(with_finished > kTrials / 4);
  CHECK(full > kTrials / 20);
}

TEST_CASE("greedy decoding takes the most likely token and counts end-of-transcript") {
  std::mt19937 random(3);
  int near_ties = 0, finished = 0;
  SlotRows slot;
  for (int trial = 0; trial < 1500; trial++) {
    const Case c = random_case(random);
    const int limit = 1 + random() % 12;
    start(c, slot, 1, 1, 0, limit);
    Sequence by_hand;
    bool ended = false, near_tie = false;
    while (!slot.done) {
      step(c, slot, 100);
      const LogProbs log_probs = log_probs_by_hand(c, by_hand.tokens);
      const std::vector<int> best = best_tokens(log_probs, 2);
      near_tie |= log_probs.near_tie || (best.size() == 2 && log_probs.of[best[0]] - log_probs.of[best[1]] < kNear);
      if (near_tie) break;
      if (best.empty()) {
        REQUIRE(slot.done);
        break;
      }
      by_hand.sum += log_probs.of[best[0]];
      ended = best[0] == kEot;
      if (!ended) by_hand.tokens.push_back(best[0]);
      REQUIRE(slot.done == (ended || static_cast<int>(by_hand.tokens.size()) == limit));
    }
    near_ties += near_tie;
    if (near_tie) continue;
    const bool left = slot.n_finished == 1;
    REQUIRE((left && slot.finished[0].reached_eot) == ended);
    finished += ended;
    const Tokens tokens = left ? tokens_of(slot, slot.finished[0].n_tokens, slot.finished[0].row)
                                : tokens_of(slot, slot.n_sampled, 0);
    CHECK(tokens == by_hand.tokens);
    const float sum = left ? slot.finished[0].sum_log_prob : slot.row[0].sum_log_prob;
    CHECK(sum == doctest::Approx(by_hand.sum).epsilon(1e-5));
  }
  CHECK(near_ties < 75);
  CHECK(finished > 300);
}

TEST_CASE("samples are drawn as the rules' softmax has it, at any temperature, and scored without it") {
  Case c;
  c.seed = 7;
  for (float temperature : {0.4f, 1.0f}) {
    CAPTURE(temperature);
    const Tokens past = {kFirstTimestamp, 5};
    const LogProbs log_probs = log_probs_by_hand(c, past);
    std::vector<double> expected(kVocabulary);
    double sum = 0;
    for (int t = 0; t < kVocabulary; t++) sum += expected[t] = std::exp(log_probs.of[t] / temperature);
    constexpr int kDraws = 20000;
    std::vector<int> count(kVocabulary);
    SlotRows slot;
    start(c, slot, 1, 1, temperature, 10);
    slot.row[0] = row_after(slot.rules, row_after(slot.rules, slot.row[0], past[0], 0), past[1], 0);
    const std::vector<float> logits = c.logits(past);
    for (int draw = 0; draw < kDraws; draw++) {
      slot.sample_key = 1000 + draw;
      const Choices choices = choices_of(slot, 0, logits, 128);
      REQUIRE(choices.n == 1);
      CHECK(choices.choice[0].log_prob == doctest::Approx(log_probs.of[choices.choice[0].token]).epsilon(1e-4));
      count[choices.choice[0].token]++;
    }
    double chi_square = 0;
    int n = 0;
    for (int t = 0; t < kVocabulary; t++) {
      const double mean = expected[t] / sum * kDraws;
      if (expected[t] == 0) CHECK(count[t] == 0);
      if (mean < 5) continue;
      chi_square += (count[t] - mean) * (count[t] - mean) / mean;
      n++;
    }
    REQUIRE(n > 5);
    CHECK(chi_square < n + 5 * std::sqrt(2.0 * n));  // mean n, standard deviation sqrt(2 n)
  }
}

TEST_CASE("samples part, end apart and do not depend on how many there are") {
  std::mt19937 random(4);
  int some_ended_first = 0, differ = 0;
  SlotRows slot;
  for (int trial = 0; trial < 300; trial++) {
    Case c = random_case(random);
    c.rules.timestamps = true;
    const auto run = [&](int rows) {
      start(c, slot, rows, 1, 0.8f, 8);
      bool apart = false;
      while (!slot.done) {
        step(c, slot, 100);
        apart |= slot.n_finished > 0 && slot.n_live > 0;
      }
      REQUIRE(slot.n_finished + slot.n_live == rows);
      some_ended_first += apart;
      std::map<uint32_t, std::pair<Tokens, float>> live;
      for (int i = 0; i < slot.n_live; i++) {
        live[slot.row[i].sample] = {tokens_of(slot, slot.n_sampled, i), slot.row[i].sum_log_prob};
      }
      std::vector<Tokens> all;
      for (auto& [sample, row] : live) all.push_back(row.first);
      for (int i = 0; i < slot.n_finished; i++) {
        all.push_back(tokens_of(slot, slot.finished[i].n_tokens, slot.finished[i].row));
      }
      return all;
    };
    const std::vector<Tokens> three = run(3), five = run(5);
    for (const Tokens& tokens : three) CHECK(std::count(five.begin(), five.end(), tokens) >= 1);
    differ += std::any_of(five.begin(), five.end(), [&](const Tokens& tokens) { return tokens != five[0]; });
  }
  CHECK(some_ended_first > 50);
  CHECK(differ > 250);  // where the rules leave a choice
}

TEST_CASE("a row with every token masked ends") {
  Case c;
  c.suppress.assign(c.suppress.size(), ~0u);
  SlotRows slot;
  for (int rows : {1, 3}) {
    start(c, slot, rows, 1, 0, 10);
    step(c, slot, 100);
    CHECK(slot.done);
    CHECK(slot.n_sampled == 0);
    CHECK(slot.n_finished + slot.n_live == 1);
  }
}

TEST_CASE("rows are reordered by following parents") {
  Case c;
  c.seed = 99;
  c.rules.timestamps = false;
  constexpr int kPrompt = 3;
  SlotRows slot;
  start(c, slot, 4, 1, 0, 12);
  std::vector<uint8_t> where(kMaxRows * kTextContext), before = where;
  // memory[row][position] names the token that was last written there.
  std::vector<std::vector<int>> memory(kMaxRows, std::vector<int>(kTextContext, -1));
  while (!slot.done) {
    step(c, slot, 100);
    std::swap(where, before);
    const int position = kPrompt + slot.n_sampled - 1;
    follow_parents(slot, before.data(), where.data(), position);
    for (int i = 0; i < slot.n_live; i++) memory[i][position] = slot.token[slot.n_sampled - 1][i];
    for (int i = 0; i < slot.n_live; i++) {
      const Tokens tokens = tokens_of(slot, slot.n_sampled, i);
      for (int t = 0; t < kPrompt; t++) CHECK(where[i * kTextContext + t] == 0);
      for (int t = 0; t < slot.n_sampled; t++) {
        CHECK(memory[where[i * kTextContext + kPrompt + t]][kPrompt + t] == tokens[t]);
      }
    }
  }
}

TEST_CASE("the index table ends with the context, though a row may have one token more") {
  const auto slot = std::make_unique<SlotRows>();
  slot->n_live = 2;
  slot->n_sampled = 1;
  std::vector<uint8_t> before(2 * kTextContext, 0), after(2 * kTextContext + 1, 77);
  follow_parents(*slot, before.data(), after.data(), kTextContext);
  CHECK(std::count(after.begin(), after.end(), 0) == 2 * kTextContext);
  CHECK(after.back() == 77);
}

TEST_CASE("the generator gives the words its authors published") {
  const auto words = [](uint64_t key, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const Philox p = philox(key, a, b, c, d);
    return std::vector<uint32_t>(p.word, p.word + 4);
  };
  CHECK(words(0, 0, 0, 0, 0) == std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(words(~uint64_t{0}, ~0u, ~0u, ~0u, ~0u) ==
        std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words(0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344) ==
        std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  for (uint32_t bits : {0u, 1u, ~0u}) CHECK(std::isfinite(gumbel(bits)));
}

TEST_CASE("patience counts finished sequences as decimal numbers do, halves to the even one") {
  CHECK(finished_wanted(5, 1.0f) == 5);
  CHECK(finished_wanted(5, 1.3f) == 6);   // 6.5
  CHECK(finished_wanted(5, 0.7f) == 4);   // 3.5
  CHECK(finished_wanted(5, 0.5f) == 2);   // 2.5
  CHECK(finished_wanted(2, 2.0f) == 4);
}
