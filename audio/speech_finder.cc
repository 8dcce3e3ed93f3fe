#include "audio/speech_finder.h"

#include <algorithm>

#include "models/dims.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kPerMs = kSampleRate / 1000;

}  // namespace

void SpeechFinder::push(float probability) {
  if (probability >= settings_.threshold) {
    if (start_ < 0) start_ = at_;
    silence_ = -1;
  } else if (start_ >= 0 && probability < settings_.end_threshold) {
    if (silence_ < 0) silence_ = at_;
    if (at_ - silence_ >= settings_.min_silence_ms * kPerMs) end_speech(silence_);
  }
  at_ += kVadChunk;
}

void SpeechFinder::end_speech(int64_t end) {
  if (end - start_ > settings_.min_speech_ms * kPerMs) found_.push_back({start_, end});
  start_ = silence_ = -1;
}

void SpeechFinder::jump(int64_t sample) {
  CHECK_INVARIANT(sample >= at_);
  finish(at_);
  at_ = sample;
}

void SpeechFinder::finish(int64_t end) {
  if (start_ >= 0) end_speech(end);
}

std::vector<Speech> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                    const VadSettings& settings) {
  CHECK_INVARIANT(std::ssize(probabilities) == (n_samples + kVadChunk - 1) / kVadChunk);
  SpeechFinder finder(settings);
  for (const float probability : probabilities) finder.push(probability);
  finder.finish(n_samples);

  std::vector<Speech> found = finder.found();
  const int64_t pad = settings.pad_ms * kPerMs;
  for (size_t i = 0; i < found.size(); ++i) {
    const bool last = i + 1 == found.size();
    if (i == 0) found[i].start = std::max<int64_t>(0, found[i].start - pad);
    const int64_t half_gap = last ? pad : (found[i + 1].start - found[i].end) / 2;
    found[i].end = std::min(n_samples, found[i].end + std::min(pad, half_gap));
    if (!last) found[i + 1].start -= std::min(pad, half_gap);
  }
  return found;
}

}  // namespace sotto
