// The figures of `sotto bench --plan` against what the executor counts while the kernels run.
#include "kernels/cuda/roofline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "kernels/network.h"
#include "kernels/synthetic.h"

namespace sotto::test {
namespace {

constexpr int kSms = 16;  // the simulated GPU's
constexpr Dims kSmall = {384, 6, 1, 1, 80, 51864};

// Kernels that move a sector or meet a bank in vain, as kernels/LADDER.md explains: by names' beginnings.
constexpr const char* kExplained[] = {"choose", "embed", "layer_norm_s8", "logits", "step_out", "step_fc2", "step_qkv"};

// What a network's work comes to, stage by stage.
template <class Work>
std::map<std::string, simt::Counters> counted(const Work& work) {
  simt::set_schedule({});
  simt::set_counting(true);
  work();
  simt::set_counting(false);
  std::map<std::string, simt::Counters> stages;
  for (const auto& [kernel, counters] : simt::counted()) {
    stages[cuda::stage_of(kernel)] += counters;
    if (std::ranges::any_of(kExplained, [&](const char* begin) { return kernel.starts_with(begin); })) continue;
    CAPTURE(kernel);
    CHECK(counters.shared_wavefronts == counters.shared_wavefronts_ideal);
    CHECK(counters.sectors_read == counters.sectors_read_ideal);
    CHECK(counters.sectors_written == counters.sectors_written_ideal);
  }
  return stages;
}

void compare(const std::vector<cuda::StageWork>& predicted, const std::map<std::string, simt::Counters>& counted,
             double small_change) {
  CHECK(predicted.size() == counted.size());
  for (const cuda::StageWork& work : predicted) {
    CAPTURE(work.name);
    REQUIRE(counted.count(work.name) == 1);
    const simt::Counters& counters = counted.at(work.name);
    CHECK(work.launches == counters.launches);
    CHECK(work.half_ops + work.byte_ops == doctest::Approx(double(counters.mma_operations)).epsilon(1e-6));
    const double moved = 32.0 * double(counters.sectors_read + counters.sectors_written);
    CHECK(work.asked == doctest::Approx(moved).epsilon(small_change));
    CHECK(work.bytes <= work.asked * 1.001);
  }
}

std::unique_ptr<Network> open(const char* precision) {
  cuda::simulated_driver = &simt::the_simulated_driver();
  cuda::simulated_images = simt::simulated_images();
  static const auto weights = synthetic_weights(kSmall);
  NetworkOptions options;
  options.threads = 1;
  options.device = "cuda-sim";
  options.precision = precision;
  return open_network(weights, options);
}

}  // namespace

// Sums of dozens of terms that are exact but for what is asked for by lanes at a tile's ragged end.
TEST_CASE("roofline: what is predicted of an encoder is what the executor counts") {
  if (on_hardware()) return;
  for (const char* precision : {"f16", "int8"}) {
    CAPTURE(precision);
    const auto network = open(precision);
    const std::vector<float> mel = synthetic_mel(kSmall.mel_bins, 1);
    const float* const mels[] = {mel.data()};
    const int slot = 0;
    const auto found = counted([&] { network->encode(mels, {&slot, 1}); });
    const auto type = std::string(precision) == "int8" ? cuda::WeightType::i8 : cuda::WeightType::f16;
    compare(cuda::encode_work(kSmall, type, kSms, 1), found, 0.02);
  }
}

// A step's small change: tables, moments, biases, states of slots. It is a part of a stage's bytes that shrinks with the
// width, and of the three that the step's time doesn't hang on it is most.
TEST_CASE("roofline: what is predicted of a step is what the executor counts") {
  if (on_hardware()) return;
  const auto network = open("f16");
  const std::vector<float> mel = synthetic_mel(kSmall.mel_bins, 1);
  const float* const mels[] = {mel.data()};
  const int slot = 0;
  network->encode(mels, {&slot, 1});
  const std::vector<int> prompt(40, 1000);
  Settings settings;
  settings.rows = 5;
  network->begin({&slot, 1}, {&prompt, 1}, {&settings, 1});
  network->step();
  network->step();
  const auto found = counted([&] { network->step(); });
  std::vector<cuda::StageWork> predicted = cuda::step_work(kSmall, cuda::WeightType::f16, 1, 5, 42);
  std::map<std::string, simt::Counters> main = found;
  std::erase_if(predicted, [](const cuda::StageWork& work) { return work.half_ops == 0; });
  for (const char* other : {"embedding", "self attention", "rules, beams, mail"}) main.erase(other);
  compare(predicted, main, 0.06);
  for (const cuda::StageWork& work : cuda::step_work(kSmall, cuda::WeightType::f16, 1, 5, 42)) {
    CAPTURE(work.name);
    CHECK(work.launches == found.at(work.name).launches);
  }
}

// What the predictions leave out: prompts, alignment, a step that watches where the attention goes, and bytes.
TEST_CASE("roofline: no other kernel moves a sector or meets a bank in vain without an explanation") {
  if (on_hardware()) return;
  const auto network = open("int8");
  const std::vector<float> mel = synthetic_mel(kSmall.mel_bins, 1);
  const float* const mels[] = {mel.data()};
  const int slot = 0;
  network->encode(mels, {&slot, 1});
  std::vector<int> prompt(20, 1000);
  prompt[0] = special_tokens(kSmall.vocabulary).sot;
  Settings settings;
  settings.rows = 5;
  settings.watch_attention = true;
  const auto found = counted([&] {
    network->begin({&slot, 1}, {&prompt, 1}, {&settings, 1});
    network->step();
    network->step();
    network->align(slot, prompt, 700);
  });
  CHECK(found.at("cross attention").launches > 0);
  CHECK(found.at("other").launches > 0);  // raw logits, probabilities, where attention goes
}

}  // namespace sotto::test
