#include "src/voice.h"

#include <algorithm>

#include "models/dims.h"

namespace sotto {
namespace {

// Three chunks in a row, a tenth of a second, are a voice. Real ones have more, even a single spoken digit has six; in
// music and in noise there may be one or two. A window too short for three must be all voice.
constexpr int64_t kChunksInARow = 3;

int64_t first_chunk(int64_t frame) { return frame * kMelHop / kVadChunk; }
int64_t end_chunk(int64_t frame) { return (frame * kMelHop + kVadChunk - 1) / kVadChunk; }

}  // namespace

bool holds_voice(std::span<const float> probabilities, float threshold) {
  const auto row = std::min<int64_t>(kChunksInARow, std::ssize(probabilities));
  const auto sure = [](float probability, float least) { return probability >= least; };
  return row > 0 &&
         std::search_n(probabilities.begin(), probabilities.end(), row, threshold, sure) != probabilities.end();
}

Voice::Voice(Vad* vad, const VadSettings& settings) : vad_(vad), threshold_(settings.threshold), finder_(settings) {
  if (vad_) vad_->reset();
}

// Goes on from where it was, or afresh from `first` if that lies further on; forgets the probabilities before it.
void Voice::hear(Features& features, int64_t first, int64_t end) {
  if (!vad_) return;
  const int64_t first_kept = first_chunk(first), heard = first_chunk_ + std::ssize(probabilities_);
  if (first_kept > heard) {
    vad_->reset();
    finder_.jump(first_kept * kVadChunk);
    probabilities_.clear();
  } else {
    probabilities_.erase(probabilities_.begin(), probabilities_.begin() + (first_kept - first_chunk_));
  }
  first_chunk_ = first_kept;

  const int64_t next = first_chunk_ + std::ssize(probabilities_);
  if (next >= end_chunk(end)) return;
  std::vector<float> sound((end_chunk(end) - next) * kVadChunk);
  features.sound(next * kVadChunk, std::ssize(sound), sound.data());
  for (const float probability : vad_->push(sound)) {
    probabilities_.push_back(probability);
    finder_.push(probability);
  }
}

bool Voice::hears_voice(Features& features, const Window& window) {
  if (!vad_) return true;
  const int64_t end = window.seek + window.n_frames;
  hear(features, window.seek, end);
  const int64_t n = end_chunk(end) - first_chunk_;
  return holds_voice(std::span(probabilities_).first(n), threshold_);
}

std::vector<Speech> Voice::speech_from(int64_t sample) const {
  const auto& found = finder_.found();
  const auto first =
      std::partition_point(found.begin(), found.end(), [&](const Speech& speech) { return speech.end <= sample; });
  std::vector<Speech> speech(first, found.end());
  const int64_t heard = (first_chunk_ + std::ssize(probabilities_)) * kVadChunk;
  if (const auto open = finder_.open()) speech.push_back({*open, finder_.silence().value_or(heard)});
  return speech;
}

}  // namespace sotto
