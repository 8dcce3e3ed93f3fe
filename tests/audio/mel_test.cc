// The log-mel spectrogram against the formula in double precision, and the edges of sound.
#include "audio/mel.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <span>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "audio/mel_fft.h"

using namespace sotto;

namespace {

std::vector<float> noise(int64_t n, float loudness, uint32_t seed = 1) {
  std::mt19937 bits(seed);
  std::vector<float> sound(n);
  for (float& sample : sound) sample = std::round(loudness * (int(bits() % 65536) - 32768)) / 32768;
  return sound;
}

std::vector<float> tone(int64_t n, double hz, double loudness) {
  std::vector<float> sound(n);
  for (int64_t i = 0; i < n; ++i) {
    sound[i] = std::round(32768 * loudness * std::sin(2 * std::numbers::pi * hz * i / kSampleRate)) / 32768;
  }
  return sound;
}

// librosa.filters.mel(sr=16000, n_fft=400, n_mels=bins), the way its documentation puts it: triangles over fftfreq.
std::vector<double> slaney_filters(int bins) {
  auto to_mel = [](double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + std::log(hz / 1000) / (std::log(6.4) / 27); };
  auto to_hz = [](double mel) { return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27); };
  std::vector<double> edge(bins + 2), filters(bins * 201);
  for (int i = 0; i < bins + 2; ++i) edge[i] = to_hz(to_mel(8000) * i / (bins + 1));
  for (int bin = 0; bin < bins; ++bin) {
    for (int k = 0; k < 201; ++k) {
      const double up = (40.0 * k - edge[bin]) / (edge[bin + 1] - edge[bin]);
      const double down = (edge[bin + 2] - 40.0 * k) / (edge[bin + 2] - edge[bin + 1]);
      filters[bin * 201 + k] = std::max(0.0, std::min(up, down)) * 2 / (edge[bin + 2] - edge[bin]);
    }
  }
  return filters;
}

// log10 mel power of one frame of the sound followed by zeros, straight from the definition.
std::vector<double> plain_frame(const std::vector<float>& sound, int64_t frame, const std::vector<double>& filters) {
  std::vector<double> power(201);
  for (int k = 0; k < 201; ++k) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 400; ++i) {
      const int64_t at = std::abs(frame * 160 - 200 + i);  // reflected at the start
      const double sample = at < std::ssize(sound) ? sound[at] : 0;
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / 400);
      sum += sample * hann * std::polar(1.0, -2 * std::numbers::pi * (k * i % 400) / 400);
    }
    power[k] = std::norm(sum);
  }
  std::vector<double> mel(filters.size() / 201);
  for (size_t bin = 0; bin < mel.size(); ++bin) {
    double sum = 0;
    for (int k = 0; k < 201; ++k) sum += filters[bin * 201 + k] * power[k];
    mel[bin] = std::log10(std::max(sum, 1e-10));
  }
  return mel;
}

std::vector<float> all_of(const std::vector<float>& sound, int bins) {
  LogMel mel(bins);
  mel.push(sound);
  mel.finish();
  REQUIRE(mel.frames_ready() <= kMelFrames);
  Mel out;
  mel.window(0, mel.frames_ready(), mel.maximum(), out);
  CHECK(out.bins == bins);
  CHECK(out.values.size() == size_t(kMelFrames) * bins);
  return out.values;
}

// Largest difference, in the encoder's scale, from the definition with the clamp over all frames, zeros included.
double error_of(const std::vector<float>& sound, int bins) {
  const std::vector<float> got = all_of(sound, bins);
  const std::vector<double> filters = slaney_filters(bins);
  const int64_t content = std::max<int64_t>(1, sound.size() / 160);
  double maximum = -10, error = 0;
  std::vector<std::vector<double>> frames;
  for (int64_t frame = 0; frame < std::ssize(sound) / 160 + 3; ++frame) {
    frames.push_back(plain_frame(sound, frame, filters));
    for (double x : frames.back()) maximum = std::max(maximum, x);
  }
  for (int64_t i = 0; i < std::ssize(got); ++i) {
    const int64_t frame = i / bins;
    const double wanted = frame < content ? (std::max(frames[frame][i % bins], maximum - 8) + 4) / 4 : 0;
    error = std::max(error, std::abs(wanted - got[i]));
  }
  return error;
}

}  // namespace

TEST_CASE("log-mel is the definition's within 1e-4, for 80 and 128 bins") {
  const std::vector<float> loud = noise(16000 / 2 + 77, 0.9f);
  CHECK(error_of(loud, 80) < 1e-4);
  CHECK(error_of(loud, 128) < 1e-4);
  // A pure tone leaves most bins 80 dB below it: the DFT's own error shows there.
  CHECK(error_of(tone(4000, 1000, 0.99), 80) < 1e-4);
  CHECK(error_of(tone(4000, 3333.3, 0.5), 128) < 1e-4);
  CHECK(error_of(noise(4000, 1.0f / 32768 * 2), 80) < 1e-4);  // a bit or two of noise
}

TEST_CASE("sound of any short length has the definition's edges") {
  for (int n : {1, 2, 159, 160, 161, 199, 200, 201, 202, 319, 320, 399, 400, 401, 559, 561}) {
    CAPTURE(n);
    CHECK(error_of(noise(n, 0.5f, n), 80) < 1e-4);
  }
}

TEST_CASE("every instruction set's frames are the same within rounding") {
  const std::vector<float> sound = noise(400 + 160 * 36, 0.7f);
  std::vector<float> window(400), unit(800), weights(201, 1.0f / 201);
  std::vector<int> first(80), count(80, 2);
  for (int i = 0; i < 400; ++i) {
    window[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / 400);
    unit[2 * i] = std::cos(2 * std::numbers::pi * i / 400);
    unit[2 * i + 1] = -std::sin(2 * std::numbers::pi * i / 400);
  }
  for (int bin = 0; bin < 80; ++bin) first[bin] = bin * 199 / 79;
  const MelTables tables{80, window.data(), unit.data(), first.data(), count.data(), weights.data()};
  std::vector<MelFrames> all = {mel_frames_generic};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(mel_frames_avx2);
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(mel_frames_avx512);
#endif
  std::vector<float> wanted(37 * 80), got(37 * 80);
  const float maximum = mel_frames_generic(tables, sound.data(), 37, wanted.data());
  CHECK(maximum == *std::max_element(wanted.begin(), wanted.end()));
  for (MelFrames frames : all) {
    CHECK(frames(tables, sound.data(), 37, got.data()) == doctest::Approx(maximum).epsilon(1e-5));
    float error = 0;
    for (size_t i = 0; i < got.size(); ++i) error = std::max(error, std::abs(got[i] - wanted[i]));
    CHECK(error < 1e-3);  // log10 of single DFT bins, some of which nearly cancel
  }
}

TEST_CASE("how the sound is cut into pushes changes nothing") {
  const std::vector<float> sound = noise(16000 * 3 + 11, 0.3f);
  const std::vector<float> wanted = all_of(sound, 80);
  for (int step : {1, 7, 160, 201, 1000, 16000}) {
    LogMel mel(80);
    for (size_t at = 0; at < sound.size(); at += step) {
      mel.push(std::span(sound).subspan(at, std::min<size_t>(step, sound.size() - at)));
      const int64_t samples = mel.n_samples();
      CHECK(mel.frames_ready() == (samples < 201 ? 0 : (samples - 200) / 160 + 1));
    }
    mel.finish();
    Mel out;
    mel.window(0, mel.frames_ready(), mel.maximum(), out);
    CHECK(out.values == wanted);
  }
}

TEST_CASE("frames that are dropped leave the rest as it was") {
  const std::vector<float> sound = noise(16000 * 5, 0.3f);
  LogMel whole(80), dropped(80);
  whole.push(sound);
  for (int second = 0; second < 5; ++second) {
    dropped.push(std::span(sound).subspan(second * 16000, 16000));
    dropped.drop_before(second * 90);
  }
  whole.finish();
  dropped.finish();
  CHECK(dropped.maximum() == whole.maximum());
  Mel wanted, got;
  for (int64_t first : {360, 400, 499}) {
    whole.window(first, 500 - first, 0.5f, wanted);
    dropped.window(first, 500 - first, 0.5f, got);
    CHECK(got.values == wanted.values);
  }
}

TEST_CASE("nothing, silence and broken samples give finite values") {
  LogMel nothing(80);
  nothing.finish();
  CHECK(nothing.frames_ready() == 0);
  CHECK(nothing.content_frames() == 0);
  CHECK(nothing.maximum() == -10);

  const std::vector<float> silence = all_of(std::vector<float>(16000), 80);
  CHECK(silence[0] == doctest::Approx(-1.5));  // (log10(1e-10) + 4) / 4
  CHECK(silence[100 * 80 - 1] == doctest::Approx(-1.5));
  CHECK(silence[100 * 80] == 0);

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> broken = noise(16000, 0.5f), mended = broken;
  const std::pair<float, float> bad[] = {{kNan, 0}, {kInfinity, 1}, {-kInfinity, -1}, {1e30f, 1}, {-7.0f, -1}};
  for (int i = 0; i < 5; ++i) std::tie(broken[i * 3000], mended[i * 3000]) = bad[i];
  CHECK(all_of(broken, 80) == all_of(mended, 80));
  for (float x : all_of(broken, 128)) REQUIRE(std::isfinite(x));
}
