// The log-mel spectrogram of the device against audio/mel's.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "audio/mel.h"
#include "cuda/device.h"
#include "kernels/cuda/log_mel.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

struct Filters {
  std::vector<MelFilter> filters;
  std::vector<float> weights;
};

// Slaney's bank: triangles of area one whose corners stand at even distances in mel.
Filters slaney(int bins) {
  const auto to_hz = [](double mel) { return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27); };
  const double step = (15 + std::log(8.0) / (std::log(6.4) / 27)) / (bins + 1);
  Filters made;
  for (int bin = 0; bin < bins; bin++) {
    const double low = to_hz(bin * step), middle = to_hz((bin + 1) * step), high = to_hz((bin + 2) * step);
    MelFilter filter = {0, 0, static_cast<int32_t>(made.weights.size())};
    for (int k = 0; k < kSpectrum; k++) {
      const double weight = std::min((40.0 * k - low) / (middle - low), (high - 40.0 * k) / (high - middle));
      if (weight <= 0) continue;
      if (filter.count++ == 0) filter.first = static_cast<int16_t>(k);
      made.weights.push_back(static_cast<float>(weight * 2 / (high - low)));
    }
    made.filters.push_back(filter);
  }
  return made;
}

// Noise of all loudnesses, then a loud tone with silence around it: 80 dB in one frame and between frames.
std::vector<float> sound(int n_samples) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> samples(n_samples);
  for (int i = 0; i < n_samples; i++) {
    const double t = double(i) / kSampleRate;
    samples[i] = i < n_samples / 2 ? 0.3f * std::exp(-12.0f * i / n_samples) * normal(random)
                 : i < 3 * n_samples / 4
                     ? static_cast<float>(0.8 * std::sin(2 * std::numbers::pi * 1234 * t) + 1e-4 * normal(random))
                     : 0;
    samples[i] = std::round(std::clamp(samples[i], -1.0f, 1.0f) * 32767) / 32768;
  }
  return samples;
}

// As the kernel takes it: the first 200 samples reflected before, zeros after the end.
std::vector<float> with_edges(const std::vector<float>& samples, int n_frames) {
  std::vector<float> all((n_frames - 1) * kMelHop + kMelWindow);
  for (int i = 0; i < int(all.size()); i++) {
    const int at = std::abs(i - kMelWindow / 2);
    all[i] = at < int(samples.size()) ? samples[at] : 0;
  }
  return all;
}

void check(int bins, int n_frames) {
  const std::vector<float> samples = sound(n_frames * kMelHop);
  LogMel plain(bins);
  plain.push(samples);
  plain.finish();
  REQUIRE(plain.content_frames() == n_frames);
  Mel expected;
  plain.window(0, n_frames, plain.maximum(), expected);

  std::vector<float> window(kFolded);
  for (int n = 0; n < kFolded; n++) {
    window[n] = static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * n / kMelWindow));
  }
  const Filters bank = slaney(bins);
  const int32_t silence = ~(int32_t(as_bits(-10.0f)) & 0x7fffffff);
  const DeviceArray<float> samples_there(with_edges(samples, n_frames)), window_there(window), dft(log_mel_dft()),
      weights(bank.weights);
  const DeviceArray<MelFilter> filters(bank.filters);
  const DeviceArray<int32_t> maximum(std::vector<int32_t>{silence});
  DeviceArray<float> log_mel(int64_t{n_frames} * bins);
  DeviceArray<bf16> mel(int64_t{kFrameRows} * bins);
  mel.fill(0);
  launch(log_mel_kernel(bins).c_str(), log_mel_shape(n_frames),
         LogMelArgs{samples_there.data(), window_there.data(), dft.data(), filters.data(), weights.data(), log_mel.data(),
                    maximum.data(), n_frames});
  launch(mel_clamp_kernel(Half::bf16).c_str(), mel_clamp_shape(bins),
         MelClampArgs{log_mel.data(), maximum.data(), mel.data(), n_frames, bins});

  const std::vector<float> values = log_mel.host(), operand = floats_of(mel.host());
  double worst = 0, worst_operand = 0;
  for (int i = 0; i < n_frames * bins; i++) {
    const float scaled = (std::max(values[i], plain.maximum() - 8) + 4) / 4;
    worst = std::max<double>(worst, std::abs(scaled - expected.values[i]));
    worst_operand = std::max<double>(worst_operand, std::abs(operand[bins + i] - expected.values[i]));
  }
  CHECK(worst < 1e-4);           // what audio/mel promises itself
  CHECK(worst_operand < 0x1p-7);  // values are below 2: half a unit in bf16's last place
  for (int i = 0; i < bins; i++) REQUIRE(operand[i] == 0);
  for (size_t i = (n_frames + 1) * bins; i < operand.size(); i++) REQUIRE(operand[i] == 0);
}

}  // namespace

TEST_CASE("log mel: equal to the host's, all schedules") {
  for_each_schedule([&] { check(80, 37); });
  one_schedule([&] { check(128, 120); });
}

TEST_CASE("log mel: bytes, and few meetings in a bank") {
  if (on_hardware()) return;
  const simt::Counters c = count([&] { check(80, 64); });
  CHECK(c.sectors_written == c.sectors_written_ideal);
  CHECK(c.shared_wavefronts < 1.05 * c.shared_wavefronts_ideal);
}

TEST_CASE("full: log mel: a whole window") {
  one_schedule([&] { check(80, kMelFrames); });
}
