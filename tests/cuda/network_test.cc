// The whole CUDA engine, its host side included, on the executor: what the seam promises of any network, against the plain
// one, on small random models.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device.h"
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

std::unique_ptr<Network> cuda_network(int slots = 1, std::string* warning = nullptr) {
  simt::set_schedule({});
  cuda::simulated_driver = &simt::the_simulated_driver();
  cuda::simulated_images = simt::simulated_images();
  NetworkOptions options;
  options.threads = 2;
  options.slots = slots;
  options.device = "cuda-sim";
  if (warning) options.warn = [warning](const std::string& sentence) { *warning = sentence; };
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
  const auto shared = cuda_network(3), alone = cuda_network(3);
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

TEST_CASE("cuda network: what can't be done on the GPU is told in a sentence, and the processor does it") {
  if (on_hardware()) return;
  const cuda::DecoderPlan decoder = {kSmall, cuda::WeightType::f16, 6, 5, 1};
  const auto fits = [&](int slots, int windows) {
    cuda::DecoderPlan smaller = decoder;
    smaller.slots = slots;
    return cuda::memory_plan(smaller, windows).total() + cuda::kReserve;
  };
  const auto planned = [&](int64_t free) { return cuda::fit_memory(decoder, free, "a model", "a GPU"); };
  CHECK(planned(fits(6, 6)).windows == 6);
  CHECK(planned(fits(6, 6) - 1).windows == 5);
  CHECK(planned(fits(6, 6) - 1).slots == 6);
  CHECK(planned(fits(6, 1) - 1).slots == 5);
  CHECK_THROWS_WITH_AS(planned(fits(1, 1) - 1), doctest::Contains("a model needs"), Error);

  std::string warning;
  simt::set_simulated_memory(1 << 20);
  CHECK(cuda_network(1, &warning)->description().find("CPU") != std::string::npos);
  CHECK(warning.find("are free") != std::string::npos);
  simt::set_simulated_memory(size_t{16} << 30);
  simt::fail_launch_after(0);
  CHECK(cuda_network(1, &warning)->description().find("CPU") != std::string::npos);
  CHECK(warning.find("kernel mel_operand") != std::string::npos);
  simt::fail_launch_after(-1);
  CHECK(cuda_network(1, &warning)->description().find("the simulated GPU (sm_80), f16") != std::string::npos);

  const auto network = cuda_network();
  encode(*network, {0});
  begin(*network, 0);
  simt::fail_launch_after(0);
  CHECK_THROWS_WITH_AS(network->step(), doctest::Contains("a decoding step"), Error);
  simt::fail_launch_after(-1);
}

}  // namespace sotto::test
