#include "src/soft_voice.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sotto {
namespace {

constexpr double kCommonLevel_dB = -26;  // of speech's louder chunks, below full scale
constexpr double kLeastGain_dB = 10;     // less makes no difference to the network
constexpr double kFaintest_dB = -80;     // of those chunks: below, 16 bits hold no speech
constexpr double kLeastSpread_dB = 10;   // between speech's louder chunks and its pauses; noise has 1, or 5 in gusts

// A quarter of a second in a row. Soft speech has twice that; tones, taps and birds have up to five chunks.
constexpr int kChunksInARow = 8;

double level_dB(std::span<const float> chunk) {
  double power = 1e-12;
  for (const float x : chunk)
    if (std::isfinite(x)) power += double{x} * x / kVadChunk;
  return 10 * std::log10(power);
}

// By how much the sound is to be louder for a fair look; none where a look isn't worth it.
std::optional<float> gain_for(std::span<const float> sound) {
  std::vector<double> levels;
  for (size_t at = 0; at + kVadChunk <= sound.size(); at += kVadChunk)
    levels.push_back(level_dB(sound.subspan(at, kVadChunk)));
  if (std::ssize(levels) < kChunksInARow) return std::nullopt;
  std::ranges::sort(levels);
  const double loud = levels[levels.size() * 9 / 10], quiet = levels[levels.size() / 10];
  if (loud < kFaintest_dB || loud > kCommonLevel_dB - kLeastGain_dB || loud - quiet < kLeastSpread_dB)
    return std::nullopt;
  return static_cast<float>(std::pow(10.0, (kCommonLevel_dB - loud) / 20));
}

}  // namespace

std::vector<Speech> soft_speech(const Vad& vad, std::span<const float> sound, int lead, const VadSettings& settings) {
  const int64_t first = int64_t{lead} * kVadChunk;
  if (std::ssize(sound) <= first) return {};
  const auto gain = gain_for(sound.subspan(first));
  if (!gain) return {};
  std::vector<float> louder(sound.begin(), sound.end());
  for (float& x : louder) x *= *gain;
  const std::vector<float> probabilities = vad.alone(louder);

  SpeechFinder finder(settings);
  finder.jump(first);
  for (const float probability : std::span(probabilities).subspan(lead)) finder.push(probability);
  finder.finish(std::ssize(sound));
  std::vector<Speech> found = finder.found();
  std::erase_if(found, [&](const Speech& one) {
    const auto end = probabilities.begin() + (one.end + kVadChunk - 1) / kVadChunk;
    const auto sure = [](float probability, float least) { return probability >= least; };
    return std::search_n(probabilities.begin() + one.start / kVadChunk, end, kChunksInARow, settings.threshold, sure) == end;
  });
  return found;
}

}  // namespace sotto
