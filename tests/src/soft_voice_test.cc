// Somebody who speaks far from the microphone, or after somebody loud, is heard; and noise is no voice for being soft.
#include "src/soft_voice.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "scene.h"

using namespace sotto;

namespace {

std::vector<int16_t> softer(std::vector<int16_t> sound, double by_dB) {
  for (int16_t& sample : sound) sample = static_cast<int16_t>(std::lround(sample * std::pow(10.0, -by_dB / 20)));
  return sound;
}

std::vector<float> as_floats(const std::vector<int16_t>& sound) {
  std::vector<float> floats;
  for (const int16_t sample : sound) floats.push_back(static_cast<float>(sample) / 32768);
  return floats;
}

double seconds(const std::vector<Speech>& speech) {
  int64_t samples = 0;
  for (const Speech& one : speech) samples += one.end - one.start;
  return static_cast<double>(samples) / kSampleRate;
}

// A loud sentence, and the same 40 dB softer.
std::vector<int16_t> loud_and_soft() {
  const auto pause = silence(8 * kSecond);
  return and_then(and_then(speech(), pause), and_then(softer(speech(), 40), silence(kSecond)));
}

}  // namespace

TEST_CASE("speech is heard however soft it is, down to where it fades into the noise") {
  Scene scene;
  if (!listen(scene)) return;
  const auto talk = and_then(and_then(silence(kSecond), speech()), silence(kSecond));
  const Vad& vad = *scene.engine.vad;
  for (const double by_dB : {25, 40, 50}) {
    const auto found = soft_speech(vad, as_floats(softer(talk, by_dB)), 0, scene.options.vad);
    CHECK(seconds(found) > 2);
    REQUIRE(!found.empty());
    CHECK(found.front().start > kSecond * 0.9);
    CHECK(found.back().end < std::ssize(talk) - kSecond * 0.8);
  }
  CHECK(soft_speech(vad, as_floats(talk), 0, scene.options.vad).empty());  // loud enough for the first look
  CHECK(soft_speech(vad, as_floats(softer(talk, 90)), 0, scene.options.vad).empty());
}

TEST_CASE("noise, hiss, hum, taps and tones are no voice for being soft") {
  Scene scene;
  if (!listen(scene)) return;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(-1, 1);
  std::vector<std::vector<float>> sounds(6, std::vector<float>(5 * kSecond));
  for (int64_t i = 0; i < 5 * kSecond; ++i) {
    const double t = static_cast<double>(i) / kSecond;
    const float white = noise(random), gust = static_cast<float>(1 + std::cos(2 * M_PI * 0.7 * t)) / 2;
    sounds[0][i] = 0.002f * white;
    sounds[1][i] = 0.004f * white * gust * gust;
    sounds[2][i] = static_cast<float>(0.005 * std::sin(2 * M_PI * 50 * t));
    sounds[3][i] = static_cast<float>(0.02 * white * std::exp(-12 * std::fmod(t, 0.61)));
    sounds[4][i] = static_cast<float>(0.006 * std::sin(2 * M_PI * 300 * t) * gust);
    sounds[5][i] = 0;
  }
  for (const auto& sound : sounds) CHECK(soft_speech(*scene.engine.vad, sound, 0, scene.options.vad).empty());
}

TEST_CASE("soft speech after loud speech is transcribed, and if in vain, told") {
  for (const Mode mode : {Mode::batched, Mode::sequential}) {
    for (const bool in_vain : {false, true}) {
      Scene scene(51864, 1);
      if (!listen(scene)) return;
      scene.options.mode = mode;
      scene.options.sampling.temperatures = {0};
      const double soft_s = static_cast<double>(speech().size()) / kSecond + 8;
      const std::string text = " This has as many words as somebody would say in the time.";
      const auto first = scene.said(0, text, 3.2);
      if (in_vain)
        scene.network.script = {{first}, {scene.said(0, "", 0), -2, 0.9}};
      else
        scene.network.script = {{joined(first, scene.said(soft_s, text, soft_s + 3.2))}};
      const Transcript transcript = scene.run(loud_and_soft());
      CHECK(transcript.segments.size() == (in_vain ? 1 : 2));
      CHECK(transcript.coverage.heard_s > 4);
      CHECK(transcript.coverage.n_gaps == (in_vain ? 1 : 0));
      if (in_vain) continue;
      CHECK(transcript.segments.back().start_s > soft_s - 0.2);
      CHECK(transcript.segments.back().end_s > soft_s + 2);
    }
  }
}
