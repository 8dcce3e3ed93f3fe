// The whole CUDA engine, its host side included, on the executor: what the seam promises of any network, against the plain
// one, on small random models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "kernels/cuda/cuda_network.h"
#include "kernels/cuda/memory_plan.h"
#include "kernels/network.h"
#include "kernels/synthetic.h"
#include "models/error.h"

namespace sotto::test {
namespace {

constexpr Dims kSmall = {384, 6, 1, 1, 80, 51864};

const std::shared_ptr<const Weights>& small_weights() {
  static const auto weights = synthetic_weights(kSmall);
  return weights;
}

struct Opened {
  int slots = 1, max_rows = 5;
  const char* precision = "";
  std::string* warning = nullptr;
};

std::unique_ptr<Network> cuda_network(const Opened& as = {}) {
  simt::set_schedule({});
  cuda::simulated_driver = &simt::the_simulated_driver();
  cuda::simulated_images = simt::simulated_images();
  NetworkOptions options;
  options.threads = 2;
  options.slots = as.slots;
  options.max_rows = as.max_rows;
  options.precision = as.precision;
  options.device = "cuda-sim";
  options.warn = [as](const std::string& sentence) {
    if (as.warning) *as.warning = sentence;
  };
  return open_network(small_weights(), options);
}

std::unique_ptr<Network> plain_network() {
  NetworkOptions options;
  options.threads = 2;
  options.engine = "reference";
  return open_network(small_weights(), options);
}

void encode(Network& network, const std::vector<int>& slots) {  // slot i hears window i
  std::vector<std::vector<float>> mels;
  std::vector<const float*> data;
  for (int slot : slots) mels.push_back(synthetic_mel(kSmall.mel_bins, 10 + slot));
  for (const auto& mel : mels) data.push_back(mel.data());
  network.encode(data, slots);
}

std::vector<int> prompt(int extra) {
  const SpecialTokens special = special_tokens(kSmall.vocabulary);
  std::vector<int> tokens = {special.sot_prev};
  for (int i = 0; i < extra; i++) tokens.push_back(100 + 37 * i);
  tokens.push_back(special.sot);
  return tokens;
}

Settings settings_for(int slot) {
  Settings settings;
  settings.rows = slot == 0 ? 1 : 3;
  settings.token_limit = 5 + 2 * slot;
  if (slot == 2) {
    settings.temperature = 0.7f;
    settings.sample_key = 42;
  }
  return settings;
}

void begin(Network& network, int slot, Beginning* beginning = nullptr) {
  const std::vector<int> tokens = prompt(3 * slot + 1);
  const Settings settings = settings_for(slot);
  const Beginning result = network.begin({&slot, 1}, {&tokens, 1}, {&settings, 1})[0];
  if (beginning) *beginning = result;
}

void check_same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) {
    CHECK(a[i].tokens == b[i].tokens);
    CHECK(a[i].sum_log_prob == b[i].sum_log_prob);
    CHECK(a[i].finished == b[i].finished);
  }
}

}  // namespace

// f16 keeps 11 bits: each rounding is 3e-4 of a value at most, some 1e-4 on average, and errors of separate values partly
// cancel in sums. Ten products in a row stay below 3e-3; something left out or misplaced is 1e-2 and more.
TEST_CASE("cuda network: output, logits, alignment and the first look at a prompt are the plain network's") {
  if (on_hardware()) return;
  const auto network = cuda_network(), plain = plain_network();
  for (Network* each : {network.get(), plain.get()}) encode(*each, {0});
  CHECK(relative_error(network->encoder_output(0), plain->encoder_output(0)) < 3e-3);
  std::vector<int> tokens = prompt(70);  // two pieces
  CHECK(relative_error(network->logits(0, tokens), plain->logits(0, tokens)) < 3e-3);
  tokens.resize(20);
  const Alignment alignment = network->align(0, tokens, 700), expected = plain->align(0, tokens, 700);
  CHECK(relative_error(alignment.qk, expected.qk) < 3e-3);
  CHECK(relative_error(alignment.token_probs, expected.token_probs) < 2e-2);
  Beginning beginning, expected_beginning;
  begin(*network, 0, &beginning);
  begin(*plain, 0, &expected_beginning);
  CHECK(beginning.no_speech_prob == doctest::Approx(expected_beginning.no_speech_prob).epsilon(0.03));
}

TEST_CASE("cuda network: a window's tokens do not depend on its company, and steps add up to its hypotheses") {
  if (on_hardware()) return;
  const auto shared = cuda_network({.slots = 3}), alone = cuda_network({.slots = 3});
  encode(*shared, {0, 1, 2});
  encode(*alone, {0, 1, 2});
  std::vector<std::vector<Hypothesis>> expected(3);
  for (int slot = 0; slot < 3; slot++) {
    begin(*alone, slot);
    while (!alone->step().empty()) {
    }
    expected[slot] = alone->hypotheses(slot);
  }
  // The slots join one after the other, and leave when they are done.
  std::vector<int> greedy;
  for (int n = 0; n < 40; n++) {
    if (n < 3) begin(*shared, n);
    const std::vector<Progress> news = shared->step();
    if (news.empty()) break;
    for (const Progress& progress : news) {
      if (progress.slot == 0) greedy.push_back(progress.rows[0].token);
    }
  }
  for (int slot = 0; slot < 3; slot++) {
    CAPTURE(slot);
    check_same(shared->hypotheses(slot), expected[slot]);
  }
  if (expected[0][0].finished) greedy.pop_back();
  CHECK(greedy == expected[0][0].tokens);
  // A slot that has ended begins anew, on the same window; another is stopped.
  begin(*shared, 1);
  begin(*shared, 2);
  shared->step();
  shared->stop(2);
  while (!shared->step().empty()) {
  }
  check_same(shared->hypotheses(1), expected[1]);
  CHECK(shared->hypotheses(2)[0].tokens.size() <= 1);
}

// Signed bytes with a scale for each 128 values keep 7 bits of the largest: 0.4 % of a typical value and, over the
// roundings of one layer, some 1 to 2 % of the encoder's output (2.2 % in tiny.en's four layers on speech).
TEST_CASE("cuda network: int8 weights and products are near the plain network") {
  if (on_hardware()) return;
  const auto network = cuda_network({.precision = "int8"}), plain = plain_network();
  CHECK(network->description().find("int8") != std::string::npos);
  for (Network* each : {network.get(), plain.get()}) encode(*each, {0});
  const double output = relative_error(network->encoder_output(0), plain->encoder_output(0));
  CHECK(output < 3e-2);
  CHECK(output > 3e-3);  // f16's
  const std::vector<int> tokens = prompt(10);
  CHECK(relative_error(network->logits(0, tokens), plain->logits(0, tokens)) < 5e-2);
}

TEST_CASE("cuda network: rows that one step does not hold are taken in several") {
  if (on_hardware()) return;
  constexpr int kSlots = 3, kEach = 25;  // 75 rows, and a step has 64
  const auto network = cuda_network({.slots = kSlots, .max_rows = kEach}), alone = cuda_network({.max_rows = kEach});
  encode(*network, {0, 1, 2});
  Settings settings;
  settings.rows = kEach;
  settings.token_limit = 2;
  settings.temperature = 0.9f;
  const std::vector<int> tokens = prompt(2);
  std::vector<int> slots;
  for (int slot = 0; slot < kSlots; slot++) slots.push_back(slot);
  network->begin(slots, std::vector(kSlots, tokens), std::vector(kSlots, settings));
  while (!network->step().empty()) {
  }
  encode(*alone, {0});
  const int first = 0;
  alone->begin({&first, 1}, {&tokens, 1}, {&settings, 1});
  while (!alone->step().empty()) {
  }
  check_same(network->hypotheses(0), alone->hypotheses(0));
  for (int slot = 0; slot < kSlots; slot++) {
    CAPTURE(slot);
    CHECK(network->hypotheses(slot).size() == kEach);
    for (const Hypothesis& hypothesis : network->hypotheses(slot)) CHECK(hypothesis.tokens.size() <= 2);
  }
}

namespace {

// What the program tells when it can't use the GPU, and then the processor must be what works.
std::string reason_not_to(const simt::Faults& faults) {
  simt::faults() = faults;
  std::string warning;
  const auto network = cuda_network({.warning = &warning});
  CHECK(network->description().find("CPU") != std::string::npos);
  simt::faults() = {};
  CHECK(simt::simulated_memory_used() == 0);
  return warning;
}

bool says(const std::string& sentence, const char* part) {
  INFO(sentence);
  return sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuda network: what can't be done on the GPU is told in a sentence, and the processor does it") {
  if (on_hardware()) return;
  CHECK(says(reason_not_to({.memory = 1 << 20}), "MB are free: use a smaller model"));
  CHECK(says(reason_not_to({.launches_left = 0}), "kernel mel_operand_f16 failed"));
  CHECK(says(reason_not_to({.init = 100}), "the NVIDIA driver shows no GPU"));
  CHECK(says(reason_not_to({.devices = 0}), "the NVIDIA driver shows no GPU"));
  CHECK(says(reason_not_to({.init = 999}), "could not be started"));
  CHECK(says(reason_not_to({.chip = 75}), "no kernels for the simulated GPU (sm_75)"));
  CHECK(says(reason_not_to({.load = 209, .driver_version = 12040}), "the driver is for CUDA 12.4; a newer one may help"));
  const std::string few = reason_not_to({.memory_had = 1 << 20});
  CHECK(says(few, "MB for one window"));
  CHECK(says(few, "the encoder's weights"));
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CHECK(says(reason_not_to({.init = 100}), "CUDA_VISIBLE_DEVICES is \"\""));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("cuda network: a driver that doesn't start is no machine without a GPU, so that --device auto tells of it") {
  if (on_hardware()) return;
  const auto found = [](const simt::Faults& faults) {
    simt::faults() = faults;
    const cuda::Found result = cuda::find_gpu(simt::the_simulated_driver());
    simt::faults() = {};
    return result;
  };
  CHECK(found({}) == cuda::Found::usable);
  CHECK(found({.init = 100}) == cuda::Found::none);
  CHECK(found({.devices = 0}) == cuda::Found::none);
  CHECK(found({.init = 803}) == cuda::Found::broken);
}

TEST_CASE("cuda network: with little memory fewer windows are taken at once, as the plan says or as allocations find") {
  if (on_hardware()) return;
  const cuda::DecoderPlan decoder = {kSmall, cuda::WeightType::f16, 6, 5,
                                     static_cast<int>(small_weights()->alignment_heads.size())};
  const auto needs = [&](int slots, int windows) {
    cuda::DecoderPlan smaller = decoder;
    smaller.slots = slots;
    return cuda::memory_plan(smaller, windows).total();
  };
  const auto planned = [&](int64_t free) { return cuda::fit_memory(decoder, free + cuda::kReserve, "a model", "a GPU"); };
  CHECK(planned(needs(6, 6)).windows == 6);
  CHECK(planned(needs(6, 6) - 1).windows == 5);
  CHECK(planned(needs(6, 6) - 1).slots == 6);
  CHECK(planned(needs(6, 1) - 1).slots == 5);
  CHECK_THROWS_WITH_AS(planned(needs(1, 1) - 1), doctest::Contains("a model needs"), Error);

  for (const bool told : {true, false}) {
    simt::Faults faults;
    const auto had = static_cast<size_t>(needs(4, 1));
    (told ? faults.memory : faults.memory_had) = told ? had + cuda::kReserve : had;
    simt::faults() = faults;
    const auto network = cuda_network({.slots = 6});
    CHECK(network->n_slots() == 4);
    CHECK(network->description().find("the simulated GPU (sm_80), f16") != std::string::npos);
    simt::faults() = {};
  }
}

TEST_CASE("cuda network: a launch that fails while decoding is told with its name") {
  if (on_hardware()) return;
  const auto network = cuda_network();
  encode(*network, {0});
  begin(*network, 0);
  simt::faults().launches_left = 0;
  CHECK_THROWS_WITH_AS(network->step(), doctest::Contains("a decoding step"), Error);
  CHECK_THROWS_WITH_AS(encode(*network, {0}), doctest::Contains("kernel mel_operand_f16 failed"), Error);
  simt::faults() = {};
}

}  // namespace sotto::test
