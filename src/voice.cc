#include "src/voice.h"

#include <algorithm>
#include <iterator>

#include "models/dims.h"
#include "src/soft_voice.h"

namespace sotto {
namespace {

// Three chunks in a row, a tenth of a second, are a voice. Real ones have more, even a single spoken digit has six; in
// music and in noise there may be one or two. A window too short for three must be all voice.
constexpr int64_t kChunksInARow = 3;

// What seems silent is looked at again in pieces, as each speaker has a level of their own. Beside a voice, its echo is
// left out.
constexpr int64_t kPiece = 5 * kSampleRate / kVadChunk * kVadChunk;
constexpr int64_t kEcho = kSampleRate / 10;
constexpr int64_t kShortestLook = kSampleRate / 2;
constexpr int64_t kLead = 16;  // chunks

int64_t first_chunk(int64_t frame) { return frame * kMelHop / kVadChunk; }
int64_t end_chunk(int64_t frame) { return (frame * kMelHop + kVadChunk - 1) / kVadChunk; }

}  // namespace

bool holds_voice(std::span<const float> probabilities, float threshold) {
  const auto row = std::min<int64_t>(kChunksInARow, std::ssize(probabilities));
  const auto sure = [](float probability, float least) { return probability >= least; };
  return row > 0 &&
         std::search_n(probabilities.begin(), probabilities.end(), row, threshold, sure) != probabilities.end();
}

Voice::Voice(Vad* vad, const VadSettings& settings) : vad_(vad), settings_(settings), finder_(settings) {
  if (vad_) vad_->reset();
}

// Goes on from where it was, or afresh from `first` if that lies further on; forgets the probabilities before it.
void Voice::hear(Features& features, int64_t first, int64_t end) {
  if (!vad_) return;
  const int64_t first_kept = first_chunk(first);
  if (first_kept * kVadChunk > heard()) {
    vad_->reset();
    finder_.jump(first_kept * kVadChunk);
    silence_ = looked_ = first_kept * kVadChunk;
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
  look_again(features);
}

// Looks at what has seemed silent since the last look. The last piece is looked at anew once more of it has been heard.
void Voice::look_again(Features& features) {
  std::erase_if(soft_, [&](const Speech& one) { return one.start >= looked_; });
  for (const Speech& loud : loud_speech_from(looked_)) {
    look_until(loud.start - kEcho, features);
    const int64_t behind = (loud.end + kEcho + kVadChunk - 1) / kVadChunk * kVadChunk;
    silence_ = looked_ = finder_.open() == loud.start ? loud.start : behind;  // what is open may prove too short
  }
  if (!finder_.open()) look_until(heard(), features);
}

void Voice::look_until(int64_t sample, Features& features) {
  while (sample - looked_ >= kShortestLook) {
    const bool last = sample - looked_ < 2 * kPiece;
    const int64_t end = last ? sample : looked_ + kPiece;
    const int64_t first = std::max(silence_, looked_ - kLead * kVadChunk);
    std::vector<float> sound(end - first);
    features.sound(first, std::ssize(sound), sound.data());
    const int lead = static_cast<int>((looked_ - first) / kVadChunk);
    for (const Speech& one : soft_speech(*vad_, sound, lead, settings_)) soft_.push_back({first + one.start, first + one.end});
    if (last) return;
    looked_ = end;
  }
}

bool Voice::hears_voice(Features& features, const Window& window) {
  if (!vad_) return true;
  const int64_t end = window.seek + window.n_frames;
  hear(features, window.seek, end);
  const int64_t n = end_chunk(end) - first_chunk_;
  const int64_t first_sample = window.seek * kMelHop, end_sample = end * kMelHop;
  return holds_voice(std::span(probabilities_).first(n), settings_.threshold) ||
         std::ranges::any_of(soft_, [&](const Speech& one) { return one.start < end_sample && one.end > first_sample; });
}

std::vector<Speech> Voice::loud_speech_from(int64_t sample) const {
  const auto& found = finder_.found();
  const auto first =
      std::partition_point(found.begin(), found.end(), [&](const Speech& speech) { return speech.end <= sample; });
  std::vector<Speech> speech(first, found.end());
  if (const auto open = finder_.open()) speech.push_back({*open, finder_.silence().value_or(heard())});
  return speech;
}

std::vector<Speech> Voice::speech_from(int64_t sample) const {
  const std::vector<Speech> loud = loud_speech_from(sample);
  const auto soft =
      std::partition_point(soft_.begin(), soft_.end(), [&](const Speech& speech) { return speech.end <= sample; });
  std::vector<Speech> all;
  std::ranges::merge(loud, std::ranges::subrange(soft, soft_.end()), std::back_inserter(all), {}, &Speech::start,
                     &Speech::start);
  std::vector<Speech> joined;  // what two pieces have of one stretch
  for (const Speech& one : all) {
    if (!joined.empty() && one.start <= joined.back().end)
      joined.back().end = std::max(joined.back().end, one.end);
    else
      joined.push_back(one);
  }
  return joined;
}

}  // namespace sotto
