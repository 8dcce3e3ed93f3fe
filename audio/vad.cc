#include "audio/vad.h"

#include <algorithm>
#include <array>

#include "audio/vad_weights.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {

namespace {

VadNetwork best_vad_network() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return vad_network_avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return vad_network_avx2;
#endif
  return vad_network_generic;
}

}  // namespace

struct Vad::State {
  explicit State(const std::string& path) : parameters(path), network(best_vad_network()) {}

  const VadParameters parameters;
  const VadNetwork network;
  std::array<float, kVadState> h{}, c{};
  std::array<float, kVadContext> context{};  // the last samples of the chunk before

  // `samples` into one chunk's input: the context before it, its end reflected after it.
  void prepare(std::span<const float> samples, float* input) {
    float* const chunk = std::copy(context.begin(), context.end(), input);
    // NaN is silence; beyond full scale the network has never looked.
    std::transform(samples.begin(), samples.end(), chunk,
                   [](float x) { return x == x ? std::clamp(x, -1.0f, 1.0f) : 0.0f; });
    float* const end = chunk + kVadChunk;
    std::fill(chunk + samples.size(), end, 0.0f);
    for (int i = 0; i < kVadInput - kVadContext - kVadChunk; ++i) end[i] = end[-2 - i];
    std::copy(end - kVadContext, end, context.begin());
  }
};

Vad::Vad(const std::string& weights_path) : state_(std::make_unique<State>(weights_path)) {}
Vad::~Vad() = default;

std::vector<float> Vad::push(std::span<const float> samples) {
  State& s = *state_;
  std::vector<float> probabilities((samples.size() + kVadChunk - 1) / kVadChunk);
  std::array<float, kVadBatch * kVadInput> input;
  for (size_t done = 0; done < probabilities.size(); done += kVadBatch) {
    const int n = static_cast<int>(std::min<size_t>(kVadBatch, probabilities.size() - done));
    for (int i = 0; i < n; ++i) {
      const auto chunk = samples.subspan((done + i) * kVadChunk);
      s.prepare(chunk.first(std::min<size_t>(chunk.size(), kVadChunk)), input.data() + i * kVadInput);
    }
    s.network(s.parameters.view(), input.data(), n, s.h.data(), s.c.data(), probabilities.data() + done);
  }
  return probabilities;
}

void Vad::reset() {
  state_->h = state_->c = {};
  state_->context = {};
}

std::vector<Speech> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                    const VadSettings& settings) {
  CHECK_INVARIANT(std::ssize(probabilities) == (n_samples + kVadChunk - 1) / kVadChunk);
  constexpr int kPerMs = kSampleRate / 1000;
  constexpr int64_t kNone = -1;
  const int64_t min_speech = settings.min_speech_ms * kPerMs, min_silence = settings.min_silence_ms * kPerMs;
  const int64_t pad = settings.pad_ms * kPerMs;

  std::vector<Speech> found;
  int64_t start = kNone, silence = kNone;  // where the speech and the silence that may end it began
  const auto end_speech = [&](int64_t end) {
    if (end - start > min_speech) found.push_back({start, end});
    start = silence = kNone;
  };
  for (int64_t i = 0; i < std::ssize(probabilities); ++i) {
    const int64_t at = i * kVadChunk;
    if (probabilities[i] >= settings.threshold) {
      if (start == kNone) start = at;
      silence = kNone;
    } else if (start != kNone && probabilities[i] < settings.end_threshold) {
      if (silence == kNone) silence = at;
      if (at - silence >= min_silence) end_speech(silence);
    }
  }
  if (start != kNone) end_speech(n_samples);

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
