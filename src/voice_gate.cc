#include "src/voice_gate.h"

#include <algorithm>

#include "models/dims.h"

namespace sotto {
namespace {

// Three chunks in a row as sure as this, a tenth of a second, are a voice. Real ones have more, even a single spoken digit
// has six; in music and in noise there may be one or two. A window too short for three must be all voice.
constexpr float kSure = 0.5f;
constexpr int64_t kChunksInARow = 3;

}  // namespace

bool holds_voice(std::span<const float> probabilities) {
  const auto row = std::min<int64_t>(kChunksInARow, std::ssize(probabilities));
  const auto sure = [](float probability, float threshold) { return probability >= threshold; };
  return row > 0 && std::search_n(probabilities.begin(), probabilities.end(), row, kSure, sure) != probabilities.end();
}

VoiceGate::VoiceGate(Vad* vad) : vad_(vad) {
  if (vad_) vad_->reset();
}

bool VoiceGate::hears_voice(Features& features, const Window& window) {
  if (!vad_) return true;
  const int64_t first = window.seek * kMelHop / kVadChunk;
  const int64_t end = ((window.seek + window.n_frames) * kMelHop + kVadChunk - 1) / kVadChunk;
  listen(features, first, end);
  return holds_voice(std::span(probabilities_).subspan(first - first_chunk_, end - first));
}

// Goes on to end_chunk from where it was, or afresh from first_chunk if that lies further on; forgets what is before.
void VoiceGate::listen(Features& features, int64_t first_chunk, int64_t end_chunk) {
  const int64_t heard = first_chunk_ + std::ssize(probabilities_);
  if (first_chunk > heard) {
    vad_->reset();
    probabilities_.clear();
  } else {
    probabilities_.erase(probabilities_.begin(), probabilities_.begin() + (first_chunk - first_chunk_));
  }
  first_chunk_ = first_chunk;

  const int64_t next = first_chunk_ + std::ssize(probabilities_);
  if (next >= end_chunk) return;
  std::vector<float> sound((end_chunk - next) * kVadChunk);
  features.sound(next * kVadChunk, std::ssize(sound), sound.data());
  const std::vector<float> heard_now = vad_->push(sound);
  probabilities_.insert(probabilities_.end(), heard_now.begin(), heard_now.end());
}

}  // namespace sotto
