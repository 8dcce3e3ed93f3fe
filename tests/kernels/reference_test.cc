// The plain network against double precision on small random models, and what the seam promises of any network.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/decode.h"
#include "kernels/network.h"
#include "kernels/reference/loops.h"
#include "models/error.h"
#include "kernels/synthetic.h"

using namespace sotto;
using namespace sotto::test;

namespace {

// f32 loses some 1e-7 at each rounding, and about sqrt(n) times that over a sum of n = 512 terms; some twenty products
// follow each other. An operation left out or misplaced shows as 1e-2 and more.
constexpr double kF32 = 2e-5;

constexpr Dims kSmall = {128, 2, 1, 2, 80, 51865};

const std::shared_ptr<const Weights>& small_weights() {
  static const auto weights = synthetic_weights(kSmall);
  return weights;
}

std::unique_ptr<Network> small_network(int slots = 1, int threads = 2, int max_rows = 5) {
  return open_network(small_weights(), {threads, slots, max_rows, "reference"});
}

void encode(Network& network, int slot, uint32_t mel_seed) {
  const std::vector<float> mel = synthetic_mel(network.dims().mel_bins, mel_seed);
  const float* data = mel.data();
  network.encode({&data, 1}, {&slot, 1});
}

Beginning begin(Network& network, int slot, const std::vector<int>& prompt, const Settings& settings) {
  return network.begin({&slot, 1}, {&prompt, 1}, {&settings, 1})[0];
}

std::vector<Hypothesis> finish(Network& network, int slot) {
  while (!network.step().empty()) {
  }
  return network.hypotheses(slot);
}

std::vector<Hypothesis> decode(Network& network, int slot, const std::vector<int>& prompt, const Settings& settings) {
  begin(network, slot, prompt, settings);
  return finish(network, slot);
}

void check_same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) {
    CHECK(a[i].tokens == b[i].tokens);
    CHECK(a[i].sum_log_prob == b[i].sum_log_prob);  // to the last bit
    CHECK(a[i].finished == b[i].finished);
  }
}

const SpecialTokens kSpecial = special_tokens(kSmall.vocabulary);
const std::vector<int> kPrompt = {kSpecial.sot, kSpecial.first_language, kSpecial.transcribe};

Settings without_rules(int rows, int limit) {
  Settings settings;
  settings.rows = rows;
  settings.timestamps = settings.suppress_blank = false;
  settings.token_limit = limit;
  return settings;
}

std::shared_ptr<const TokenSet> only_eot() {
  auto set = std::make_shared<TokenSet>((kSmall.vocabulary + 31) / 32);
  add_token(*set, kSpecial.eot);
  return set;
}

std::vector<int> long_prompt(int n, int sot_at) {
  std::vector<int> prompt(n);
  for (int i = 0; i < n; i++) prompt[i] = (i * 7919 + 13) % 50000;
  if (sot_at >= 0) prompt[sot_at] = kSpecial.sot;
  return prompt;
}

}  // namespace

TEST_CASE("encoder, logits and alignment equal double precision's") {
  const auto network = small_network();
  encode(*network, 0, 1);
  const Naive naive(small_weights());
  const Rows encoded = naive.encode(synthetic_mel(kSmall.mel_bins, 1));
  CHECK(relative_error(network->encoder_output(0), flat(encoded)) < kF32);

  std::vector<int> tokens = long_prompt(12, 3);
  tokens.push_back(kSpecial.eot);
  std::vector<Rows> qk;
  const Rows logits = naive.decode(encoded, tokens, &qk);
  CHECK(relative_error(network->logits(0, tokens), flat(logits)) < kF32);

  for (int n_frames : {1500, 321}) {
    const Alignment alignment = network->align(0, tokens, n_frames);
    REQUIRE(alignment.n_heads == 2);
    REQUIRE(alignment.n_tokens == static_cast<int>(tokens.size()));
    REQUIRE(alignment.n_frames == n_frames);
    std::vector<double> cut;
    for (const Rows& head : qk) {
      for (const std::vector<double>& row : head) cut.insert(cut.end(), row.begin(), row.begin() + n_frames);
    }
    CHECK(relative_error(alignment.qk, cut) < kF32);
    for (size_t i = 0; i < tokens.size(); i++) {
      double expected = 0;  // of the first, and of specials
      if (i > 0 && tokens[i] < kSpecial.eot) {
        double sum = 0;
        for (int t = 0; t < kSpecial.eot; t++) sum += std::exp(logits[i - 1][t]);
        expected = std::exp(logits[i - 1][tokens[i]]) / sum;
      }
      CHECK(alignment.token_probs[i] == doctest::Approx(expected).epsilon(1e-3));
    }
  }
}

TEST_CASE("each beam's sum is what its tokens get when they are fed at once") {
  const auto network = small_network();
  encode(*network, 0, 2);
  for (int rows : {1, 5}) {
    const std::vector<Hypothesis> hypotheses = decode(*network, 0, kPrompt, without_rules(rows, 20));
    REQUIRE(static_cast<int>(hypotheses.size()) >= rows);
    for (const Hypothesis& hypothesis : hypotheses) {
      std::vector<int> sampled = hypothesis.tokens, all = kPrompt;
      if (hypothesis.finished) sampled.push_back(kSpecial.eot);
      all.insert(all.end(), sampled.begin(), sampled.end());
      const std::vector<float> logits = network->logits(0, all);
      double sum = 0;
      for (size_t i = 0; i < sampled.size(); i++) {
        const float* at = logits.data() + (kPrompt.size() - 1 + i) * kSmall.vocabulary;
        sum += log_softmax(at, kSmall.vocabulary)[sampled[i]];
        if (rows == 1) CHECK(sampled[i] == std::max_element(at, at + kSmall.vocabulary) - at);
      }
      CHECK(hypothesis.sum_log_prob == doctest::Approx(sum).epsilon(1e-4));
    }
  }
}

TEST_CASE("a window's tokens depend neither on its company nor on its slot nor on threads") {
  struct Job {
    uint32_t mel;
    std::vector<int> prompt;
    Settings settings;
  };
  std::vector<Job> jobs(3);
  jobs[0] = {11, kPrompt, {}};
  jobs[1] = {12, long_prompt(40, 37), {}};
  jobs[1].settings.rows = 5;
  jobs[2] = {13, long_prompt(3, -1), {}};
  jobs[2].settings.rows = 3;
  jobs[2].settings.temperature = 0.7f;
  jobs[2].settings.sample_key = 0x123456789abcdef;
  for (Job& job : jobs) job.settings.token_limit = 14;

  std::vector<std::vector<Hypothesis>> alone;
  for (const Job& job : jobs) {
    const auto network = small_network(1, 1);
    encode(*network, 0, job.mel);
    alone.push_back(decode(*network, 0, job.prompt, job.settings));
    CHECK(!alone.back()[0].tokens.empty());
  }
  for (int threads : {1, 2, 3}) {
    const auto network = small_network(3, threads);
    const int slot_of[] = {2, 0, 1};
    std::vector<std::vector<float>> mels;
    std::vector<const float*> data;
    for (const Job& job : jobs) mels.push_back(synthetic_mel(kSmall.mel_bins, job.mel));
    for (const auto& mel : mels) data.push_back(mel.data());
    network->encode(data, slot_of);
    for (size_t i = 0; i < jobs.size(); i++) {  // they join one after the other
      begin(*network, slot_of[i], jobs[i].prompt, jobs[i].settings);
      for (int step = 0; step < 3; step++) network->step();
    }
    for (size_t i = 0; i < jobs.size(); i++) check_same(finish(*network, slot_of[i]), alone[i]);

    // Again from the cross K/V they keep, all at once, while one of them is stopped and begun anew.
    std::vector<std::vector<int>> prompts;
    std::vector<Settings> settings;
    for (const Job& job : jobs) {
      prompts.push_back(job.prompt);
      settings.push_back(job.settings);
    }
    network->begin(slot_of, prompts, settings);
    network->step();
    network->stop(slot_of[1]);
    network->step();
    begin(*network, slot_of[1], prompts[1], settings[1]);
    for (size_t i = 0; i < jobs.size(); i++) check_same(finish(*network, slot_of[i]), alone[i]);
  }
}

TEST_CASE("ragged prompts give the same together and apart, start-of-transcript wherever it stands") {
  const auto network = small_network(3);
  for (int slot = 0; slot < 3; slot++) encode(*network, slot, 20 + slot);
  // Together they are longer than what the decoder takes at once.
  const std::vector<std::vector<int>> prompts = {long_prompt(400, 300), {kSpecial.sot}, long_prompt(224, -1)};
  const std::vector<int> slots = {0, 1, 2};
  Settings settings;
  settings.token_limit = 4;
  const std::vector<Beginning> together = network->begin(slots, prompts, std::vector<Settings>(3, settings));
  while (!network->step().empty()) {
  }
  for (int slot : slots) {
    const std::vector<Hypothesis> hypotheses = network->hypotheses(slot);
    const Beginning alone = begin(*network, slot, prompts[slot], settings);
    check_same(finish(*network, slot), hypotheses);
    CHECK(alone.no_speech_prob == together[slot].no_speech_prob);
    CHECK(alone.language_log_probs == together[slot].language_log_probs);
  }
  CHECK(together[2].no_speech_prob == 0);
  for (int slot : {0, 1}) {
    const int at = slot == 0 ? 300 : 0;
    const std::vector<float> logits = network->logits(slot, prompts[slot]);
    const float* at_sot = logits.data() + int64_t{at} * kSmall.vocabulary;
    const double expected = std::exp(log_softmax(at_sot, kSmall.vocabulary)[kSpecial.no_speech]);
    CHECK(together[slot].no_speech_prob == doctest::Approx(expected).epsilon(1e-4));
    REQUIRE(together[slot].language_log_probs.size() == 99);
    const std::vector<double> languages = log_softmax(at_sot + kSpecial.first_language, 99);
    for (int i = 0; i < 99; i++) {
      CHECK(together[slot].language_log_probs[i] == doctest::Approx(languages[i]).epsilon(1e-4));
    }
  }
}

TEST_CASE("sampling stops at the token limit and where the context is full") {
  const auto network = small_network();
  encode(*network, 0, 3);
  Settings settings;
  settings.suppress = only_eot();
  for (auto [n_prompt, limit, expected] : {std::tuple{3, 6, 6}, {440, 224, 9}, {448, 224, 1}}) {
    settings.token_limit = limit;
    for (int rows : {1, 3}) {
      settings.rows = rows;
      const std::vector<Hypothesis> hypotheses = decode(*network, 0, long_prompt(n_prompt, 0), settings);
      REQUIRE(static_cast<int>(hypotheses.size()) == rows);
      for (const Hypothesis& hypothesis : hypotheses) {
        CHECK(static_cast<int>(hypothesis.tokens.size()) == expected);
        CHECK(!hypothesis.finished);
      }
    }
  }
}

TEST_CASE("patience says how many finished beams end the search") {
  const auto network = small_network();
  encode(*network, 0, 4);
  Settings settings = without_rules(4, 60);
  for (auto [patience, wanted] : {std::pair{1.0f, 4}, {2.0f, 8}, {0.5f, 2}}) {
    CAPTURE(patience);
    settings.patience = patience;
    const std::vector<Hypothesis> hypotheses = decode(*network, 0, kPrompt, settings);
    const auto finished = std::count_if(hypotheses.begin(), hypotheses.end(), [](auto& h) { return h.finished; });
    CHECK(finished == wanted);
    CHECK(static_cast<int>(hypotheses.size()) == std::max(wanted, 4));
  }
  settings.patience = 100;
  CHECK_THROWS_AS(decode(*network, 0, kPrompt, settings), Error);
  CHECK_THROWS_AS(small_network(1, 1, kMaxRows + 1), Error);
}

TEST_CASE("a stopped slot takes no more steps, and what it has can be read") {
  const auto network = small_network();
  encode(*network, 0, 5);
  Settings settings = without_rules(3, 60);
  settings.suppress = only_eot();
  begin(*network, 0, kPrompt, settings);
  for (int i = 0; i < 3; i++) {
    const std::vector<Progress> progress = network->step();
    REQUIRE(progress.size() == 1);
    CHECK(!progress[0].finished);
  }
  network->stop(0);
  CHECK(network->step().empty());
  const std::vector<Hypothesis> hypotheses = network->hypotheses(0);
  REQUIRE(hypotheses.size() == 3);
  for (size_t i = 0; i < 3; i++) {
    CHECK(hypotheses[i].tokens.size() == 3);
    if (i > 0) CHECK(hypotheses[i - 1].sum_log_prob >= hypotheses[i].sum_log_prob);
  }
}

TEST_CASE("what steps report adds up to the hypotheses") {
  const auto network = small_network();
  encode(*network, 0, 6);
  for (float temperature : {0.0f, 1.0f}) {
    for (int rows : {1, 4}) {
      CAPTURE(temperature);
      CAPTURE(rows);
      Settings settings;
      settings.rows = rows;
      settings.temperature = temperature;
      settings.token_limit = 15;
      begin(*network, 0, kPrompt, settings);
      struct Row {
        std::vector<int> tokens;
        double sum = 0;
      };
      std::vector<Row> live(1), ended;
      bool finished = false;
      for (std::vector<Progress> progress; !(progress = network->step()).empty();) {
        REQUIRE(!finished);
        finished = progress[0].finished;
        std::vector<Row> next;
        for (const SampledRow& row : progress[0].rows) {
          REQUIRE(row.parent < static_cast<int>(live.size()));
          Row continued = live[row.parent];
          continued.sum += row.log_prob;
          if (row.token == kSpecial.eot) {
            ended.push_back(continued);
          } else {
            continued.tokens.push_back(row.token);
            next.push_back(continued);
          }
        }
        live = next;
      }
      CHECK(finished);
      std::map<std::vector<int>, double> reported;
      for (const std::vector<Row>* some : {&live, &ended}) {
        for (const Row& row : *some) reported[row.tokens] = row.sum;
      }
      for (const Hypothesis& hypothesis : network->hypotheses(0)) {
        const bool beam = temperature == 0 && rows > 1;
        if (beam && hypothesis.finished) continue;  // steps report the live beams
        REQUIRE(reported.count(hypothesis.tokens) == 1);
        CHECK(hypothesis.sum_log_prob == doctest::Approx(reported[hypothesis.tokens]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("samples follow their key alone") {
  const auto network = small_network();
  encode(*network, 0, 7);
  Settings settings = without_rules(4, 10);
  settings.temperature = 1;
  settings.sample_key = 1;
  const auto first = decode(*network, 0, kPrompt, settings);
  check_same(decode(*network, 0, kPrompt, settings), first);
  settings.sample_key = 2;
  const auto other = decode(*network, 0, kPrompt, settings);
  CHECK(other[0].tokens != first[0].tokens);
  CHECK(first[0].tokens != first[1].tokens);
}

TEST_CASE("an English-only model knows no languages") {
  const auto network = open_network(synthetic_weights({64, 1, 1, 1, 128, 51864}), {1, 1, 1, "reference"});
  encode(*network, 0, 8);
  const Beginning beginning = begin(*network, 0, {special_tokens(51864).sot}, {});
  CHECK(beginning.no_speech_prob > 0);
  CHECK(beginning.language_log_probs.empty());
}

TEST_CASE("every instruction set's loops are right, and sum in one order whatever the rows") {
  using reference::Loops;
  std::vector<const Loops*> all = {&reference::loops_portable()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(&reference::loops_avx2());
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(&reference::loops_avx512());
#endif
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  const auto noise = [&](int n, float scale) {
    std::vector<float> values(n);
    for (float& value : values) value = normal(random) * scale;
    return values;
  };
  for (const Loops* loops : all) {
    CAPTURE(loops->isa);
    REQUIRE(64 % loops->panel == 0);
    constexpr int kM = 13, kK = 77;
    const int n = loops->panel;
    const std::vector<float> a = noise(kM * kK, 1), b = noise(kK * n, 1), start = noise(n, 1);
    std::vector<float> c(kM * n), one(n);
    std::vector<double> exact(kM * n);
    for (int i = 0; i < kM; i++) {
      for (int j = 0; j < n; j++) {
        exact[i * n + j] = start[j];
        for (int p = 0; p < kK; p++) exact[i * n + j] += double(a[i * kK + p]) * b[p * n + j];
      }
    }
    loops->multiply(a.data(), kK, b.data(), n, start.data(), c.data(), n, kM, kK);
    CHECK(relative_error(c, exact) < 1e-6);
    for (int i = 0; i < kM; i++) {
      loops->multiply(a.data() + i * kK, kK, b.data(), n, start.data(), one.data(), n, 1, kK);
      CHECK(std::equal(one.begin(), one.end(), c.begin() + i * n));
    }

    std::vector<float> x = noise(333, 20);
    std::vector<double> y(x.begin(), x.end());
    const double max = *std::max_element(y.begin(), y.end());
    double sum = 0;
    for (double& value : y) sum += value = std::exp(value - max);
    for (double& value : y) value /= sum;
    loops->softmax(x.data(), 333);
    for (int i = 0; i < 333; i++) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-5));

    std::vector<float> g = noise(333, 3), before = g;
    g[0] = before[0] = -100;
    g[1] = before[1] = 100;
    loops->gelu(g.data(), 333);
    for (int i = 0; i < 333; i++) {
      const double expected = before[i] * (1 + std::erf(before[i] / std::sqrt(2.0))) / 2;
      CHECK(std::abs(g[i] - expected) <= 4e-7 * std::max(1.0, std::abs(expected)));
    }

    constexpr int kPositions = 9;
    const std::vector<float> q = noise(64, 0.3f), k = noise(2 * kPositions * 64, 1), v = noise(2 * kPositions * 64, 1);
    const std::vector<uint8_t> where = {0, 1, 1, 0, 1, 0, 0, 0, 1};
    std::vector<float> scores(kPositions), out(64);
    loops->attend_history(q.data(), k.data(), v.data(), where.data(), kPositions * 64, 64, kPositions, scores.data(),
                          out.data());
    std::vector<double> p(kPositions), expected(64);
    double total = 0;
    for (int t = 0; t < kPositions; t++) {
      for (int d = 0; d < 64; d++) p[t] += double(q[d]) * k[(where[t] * kPositions + t) * 64 + d];
      total += p[t] = std::exp(p[t]);
    }
    for (int t = 0; t < kPositions; t++) {
      for (int d = 0; d < 64; d++) expected[d] += p[t] / total * v[(where[t] * kPositions + t) * 64 + d];
    }
    CHECK(relative_error(out, expected) < 1e-6);
  }
}
