// The CPU engine as a whole against the plain network, on real weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/network.h"
#include "kernels/synthetic.h"
#include "models/error.h"
#include "models/weights.h"
#include "test_models.h"

namespace sotto {
namespace {

std::shared_ptr<const Weights> weights_of(const std::string& name) {
  if (const auto path = test_model(name)) return open_weights(*path);
  MESSAGE("skipped: no weights of " << name);
  return nullptr;
}

// Something with the rise and fall of speech in every bin, so that activations are of real size.
std::vector<float> made_mel(int bins, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 0.15f);
  std::vector<float> mel(kMelFrames * bins);
  for (int t = 0; t < kMelFrames; t++)
    for (int b = 0; b < bins; b++)
      mel[t * bins + b] = 0.5f * std::sin(0.05f * t * (1 + seed) + 0.3f * b) * std::exp(-b / 40.0f) + normal(generator);
  return mel;
}

double relative_error(const std::vector<float>& x, const std::vector<float>& expected) {
  double error = 0, size = 0;
  for (size_t i = 0; i < x.size(); i++) {
    error += (x[i] - expected[i]) * (x[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

std::vector<int> prompt_for(const Dims& dims) {
  const SpecialTokens special = special_tokens(dims.vocabulary);
  if (!dims.multilingual()) return {special.sot};
  return {special.sot, special.first_language, special.transcribe};
}

std::vector<Hypothesis> decode(Network& network, int slot, int rows) {
  Settings settings;
  settings.rows = rows;
  settings.token_limit = 30;
  network.begin(std::vector(1, slot), std::vector(1, prompt_for(network.dims())), std::vector(1, settings));
  while (!network.step().empty()) {
  }
  return network.hypotheses(slot);
}

TEST_CASE("every instruction set gives the plain network's output, logits, tokens and alignment") {
  const auto weights = weights_of("tiny.en");
  if (!weights) return;
  NetworkOptions options;
  options.engine = "reference";
  const auto reference = open_network(weights, options);
  const std::vector<float> mel = made_mel(weights->dims.mel_bins, 1);
  const float* mels[] = {mel.data()};
  const int slots[] = {0};
  reference->encode(mels, slots);
  const std::vector<int> tokens = {special_tokens(weights->dims.vocabulary).sot, 50363, 314, 716, 257, 2746, 13, 50463};
  const std::vector<float> encoded = reference->encoder_output(0), logits = reference->logits(0, tokens);
  const Alignment alignment = reference->align(0, tokens, 700);
  const std::vector<Hypothesis> greedy = decode(*reference, 0, 1), beams = decode(*reference, 0, 5);

  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    options.engine = "cpu";
    options.isa = kernels->name;
    options.precision = "f32";
    const auto network = open_network(weights, options);
    network->encode(mels, slots);
    // Both are f32 and differ in the order of sums alone.
    CHECK(relative_error(network->encoder_output(0), encoded) < 2e-5);
    CHECK(relative_error(network->logits(0, tokens), logits) < 2e-5);
    const Alignment found = network->align(0, tokens, 700);
    CHECK(found.n_heads == alignment.n_heads);
    CHECK(relative_error(found.qk, alignment.qk) < 1e-4);
    CHECK(relative_error(found.token_probs, alignment.token_probs) < 1e-3);
    for (const auto& [rows, expected] : {std::pair(1, &greedy), std::pair(5, &beams)}) {
      const std::vector<Hypothesis> hypotheses = decode(*network, 0, rows);
      REQUIRE(hypotheses.size() == expected->size());
      for (size_t i = 0; i < hypotheses.size(); i++) {
        CHECK(hypotheses[i].tokens == (*expected)[i].tokens);
        CHECK(hypotheses[i].sum_log_prob == doctest::Approx((*expected)[i].sum_log_prob).epsilon(1e-3));
      }
    }
  }
}

// What one distribution loses when it is taken for another, in nats: the mean over rows of logits [rows][vocabulary].
double divergence(const std::vector<float>& logits, const std::vector<float>& expected, int vocabulary) {
  double all = 0;
  for (size_t row = 0; row < expected.size(); row += vocabulary) {
    const float *x = logits.data() + row, *y = expected.data() + row;
    double x_sum = 0, y_sum = 0, difference = 0;
    for (int i = 0; i < vocabulary; i++) {
      x_sum += std::exp(double(x[i]));
      y_sum += std::exp(double(y[i]));
      difference += std::exp(double(y[i])) * (double(y[i]) - x[i]);
    }
    all += difference / y_sum + std::log(x_sum) - std::log(y_sum);
  }
  return all * vocabulary / static_cast<double>(expected.size());
}

TEST_CASE("an engine of the processor beside a GPU that was asked for is told") {
  std::string told;
  NetworkOptions options = {.threads = 1, .engine = "cpu", .device = "cuda"};
  options.warn = [&](const std::string& sentence) { told = sentence; };
  open_network(test::synthetic_weights({64, 1, 1, 1, 128, 51864}), options);
  CHECK(told == "the engine cpu doesn't run on a GPU; the processor does the work");
}

TEST_CASE("f16, which only a GPU has, doesn't keep the processor from the work where there is no such GPU") {
  std::vector<std::string> told;
  NetworkOptions options = {.threads = 1, .device = "cuda:9999", .precision = "f16"};
  options.warn = [&](const std::string& sentence) { told.push_back(sentence); };
  const auto weights = test::synthetic_weights({64, 1, 1, 1, 128, 51864});
  CHECK(open_network(weights, options)->description().find("f32") != std::string::npos);
  REQUIRE(told.size() == 2);
  CHECK(told[0].ends_with("; the processor does the work"));
  CHECK(told[1] == "f16 is a GPU's arithmetic; the processor's is f32");
  options.device = "cpu";
  CHECK_THROWS_WITH_AS(open_network(weights, options), doctest::Contains("the processor has no precision f16"), Error);
}

TEST_CASE("a GPU is looked for unless something is asked for that only the processor has") {
  CHECK(leaves_device_open({}));
  CHECK(leaves_device_open({.engine = "auto", .device = "auto", .isa = "auto"}));
  CHECK_FALSE(leaves_device_open({.isa = "avx2"}));
  CHECK_FALSE(leaves_device_open({.device = "cpu"}));
  CHECK_FALSE(leaves_device_open({.engine = "reference"}));
}

TEST_CASE("int8 gives nearly the plain network's output and probabilities, and is taken where it is fast") {
  const auto weights = weights_of("tiny.en");
  if (!weights) return;
  NetworkOptions options;
  options.engine = "reference";
  const auto reference = open_network(weights, options);
  const std::vector<float> mel = made_mel(weights->dims.mel_bins, 1);
  const float* mels[] = {mel.data()};
  const int slots[] = {0};
  reference->encode(mels, slots);
  const std::vector<int> tokens = {special_tokens(weights->dims.vocabulary).sot, 50363, 314, 716, 257, 2746, 13, 50463};
  const std::vector<float> encoded = reference->encoder_output(0), logits = reference->logits(0, tokens);
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    options.engine = "cpu";
    options.isa = kernels->name;
    options.precision = "auto";
    const auto chosen = open_network(weights, options);
    CHECK(chosen->description().find(kernels->native_i8 ? "int8" : "f32") != std::string::npos);
    options.precision = "int8";
    const auto network = open_network(weights, options);
    network->encode(mels, slots);
    // Bytes round by about 1 % of a row's size in each product: 5.6 % and 0.0020 nats after all of them, on these sounds.
    CHECK(relative_error(network->encoder_output(0), encoded) < 0.08);
    CHECK(divergence(network->logits(0, tokens), logits, weights->dims.vocabulary) < 4e-3);
  }
}

TEST_CASE("tokens depend neither on threads nor on a window's company") {
  const auto weights = weights_of("tiny.en");
  if (!weights) return;
  for (const char* precision : {"f32", "int8"}) {
    CAPTURE(precision);
    NetworkOptions options;
    options.precision = precision;
    options.slots = 3;
    options.threads = 1;
    const auto alone = open_network(weights, options);
    options.threads = 3;
    const auto shared = open_network(weights, options);
    std::vector<std::vector<float>> mels;
    for (unsigned i = 0; i < 3; i++) mels.push_back(made_mel(weights->dims.mel_bins, i));
    const float* all[] = {mels[0].data(), mels[1].data(), mels[2].data()};
    const int slots[] = {0, 1, 2};
    shared->encode(all, slots);
    std::vector<Settings> settings(3);
    for (Settings& setting : settings) {
      setting.rows = 3;
      setting.token_limit = 20;
    }
    shared->begin(slots, std::vector(3, prompt_for(weights->dims)), settings);
    while (!shared->step().empty()) {
    }
    for (int i = 0; i < 3; i++) {
      alone->encode(std::span(all + i, 1), std::span(slots, 1));
      CHECK(alone->encoder_output(0) == shared->encoder_output(i));
      alone->begin(std::span(slots, 1), std::vector(1, prompt_for(weights->dims)), std::span(settings).first(1));
      while (!alone->step().empty()) {
      }
      const std::vector<Hypothesis> expected = alone->hypotheses(0), found = shared->hypotheses(i);
      REQUIRE(expected.size() == found.size());
      for (size_t j = 0; j < found.size(); j++) {
        CHECK(found[j].tokens == expected[j].tokens);
        CHECK(found[j].sum_log_prob == expected[j].sum_log_prob);
      }
    }
  }
}

// The position that the alignment heads look at most at each token of a sequence, from a pass over the whole of it.
std::vector<int> most_attended(Network& network, const std::vector<int>& tokens) {
  const Alignment all = network.align(0, tokens, kAudioContext);
  std::vector<int> result;
  for (int t = 0; t < all.n_tokens; t++) {
    std::vector<double> weight(kAudioContext);
    for (int h = 0; h < all.n_heads; h++) {
      const float* qk = all.qk.data() + (int64_t(h) * all.n_tokens + t) * kAudioContext;
      double sum = 0;
      for (int f = 0; f < kAudioContext; f++) sum += std::exp(qk[f]);
      for (int f = 0; f < kAudioContext; f++) weight[f] += std::exp(qk[f]) / sum;
    }
    result.push_back(static_cast<int>(std::max_element(weight.begin(), weight.end()) - weight.begin()));
  }
  return result;
}

TEST_CASE("each step tells where the alignment heads of the best row look") {
  const auto weights = weights_of("tiny.en");
  if (!weights) return;
  const std::vector<float> mel = made_mel(weights->dims.mel_bins, 3);
  const float* mels[] = {mel.data()};
  const int slots[] = {0};
  const std::vector<int> prompt = prompt_for(weights->dims);
  for (const char* engine : {"reference", "cpu"}) {
    CAPTURE(engine);
    NetworkOptions options;
    options.engine = engine;
    options.precision = "f32";
    const auto network = open_network(weights, options);
    network->encode(mels, slots);
    for (const int rows : {1, 4}) {
      CAPTURE(rows);
      Settings settings;
      settings.rows = rows;
      settings.token_limit = 12;
      settings.watch_attention = true;
      network->begin(slots, std::vector(1, prompt), std::vector(1, settings));
      std::vector<std::vector<int>> live = {prompt}, fed;  // fed: what the best row had behind it at each step
      std::vector<int> found;
      for (std::vector<Progress> steps = network->step(); !steps.empty(); steps = network->step()) {
        const Progress& progress = steps[0];
        found.push_back(progress.most_attended);
        fed.push_back(live[progress.rows[0].parent]);
        std::vector<std::vector<int>> next;
        for (const SampledRow& row : progress.rows) {
          next.push_back(live[row.parent]);
          next.back().push_back(row.token);
        }
        live = next;
      }
      REQUIRE(found.size() >= 8);
      for (size_t i = 0; i < found.size(); i++) CHECK(found[i] == most_attended(*network, fed[i]).back());
    }
    Settings unwatched;
    network->begin(slots, std::vector(1, prompt), std::vector(1, unwatched));
    CHECK(network->step()[0].most_attended == -1);
  }
}

TEST_CASE("samples are the plain network's") {
  const auto weights = weights_of("tiny.en");
  if (!weights) return;
  const std::vector<float> mel = made_mel(weights->dims.mel_bins, 2);
  const float* mels[] = {mel.data()};
  const int slots[] = {0};
  std::vector<std::vector<Hypothesis>> found;
  for (const char* engine : {"reference", "cpu"}) {
    NetworkOptions options;
    options.engine = engine;
    options.precision = "f32";
    const auto network = open_network(weights, options);
    network->encode(mels, slots);
    Settings settings;
    settings.rows = 3;
    settings.temperature = 0.6f;
    settings.sample_key = 12345;
    settings.token_limit = 20;
    network->begin(slots, std::vector(1, prompt_for(weights->dims)), std::vector(1, settings));
    while (!network->step().empty()) {
    }
    found.push_back(network->hypotheses(0));
  }
  REQUIRE(found[0].size() == found[1].size());
  for (size_t i = 0; i < found[0].size(); i++) CHECK(found[0][i].tokens == found[1][i].tokens);
}

}  // namespace
}  // namespace sotto
