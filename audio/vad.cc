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
  // What is carried from chunk to chunk of one sound.
  struct Memory {
    std::array<float, kVadState> h{}, c{};
    std::array<float, kVadContext> context{};  // the last samples of the chunk before
  };

  explicit State(const std::string& path) : parameters(path), network(best_vad_network()) {}

  const VadParameters parameters;
  const VadNetwork network;
  Memory memory;

  std::vector<float> run(Memory& memory, std::span<const float> samples) const;

  // `samples` into one chunk's input: the context before it, its end reflected after it.
  static void prepare(Memory& memory, std::span<const float> samples, float* input) {
    float* const chunk = std::copy(memory.context.begin(), memory.context.end(), input);
    // NaN is silence; beyond full scale the network has never looked.
    std::transform(samples.begin(), samples.end(), chunk,
                   [](float x) { return x == x ? std::clamp(x, -1.0f, 1.0f) : 0.0f; });
    float* const end = chunk + kVadChunk;
    std::fill(chunk + samples.size(), end, 0.0f);
    for (int i = 0; i < kVadInput - kVadContext - kVadChunk; ++i) end[i] = end[-2 - i];
    std::copy(end - kVadContext, end, memory.context.begin());
  }
};

Vad::Vad(const std::string& weights_path) : state_(std::make_unique<State>(weights_path)) {}
Vad::~Vad() = default;

std::vector<float> Vad::push(std::span<const float> samples) { return state_->run(state_->memory, samples); }

std::vector<float> Vad::alone(std::span<const float> samples) const {
  State::Memory none;
  return state_->run(none, samples);
}

std::vector<float> Vad::State::run(Memory& memory, std::span<const float> samples) const {
  std::vector<float> probabilities((samples.size() + kVadChunk - 1) / kVadChunk);
  std::array<float, kVadBatch * kVadInput> input;
  for (size_t done = 0; done < probabilities.size(); done += kVadBatch) {
    const int n = static_cast<int>(std::min<size_t>(kVadBatch, probabilities.size() - done));
    for (int i = 0; i < n; ++i) {
      const auto chunk = samples.subspan((done + i) * kVadChunk);
      prepare(memory, chunk.first(std::min<size_t>(chunk.size(), kVadChunk)), input.data() + i * kVadInput);
    }
    network(parameters.view(), input.data(), n, memory.h.data(), memory.c.data(), probabilities.data() + done);
  }
  return probabilities;
}

void Vad::reset() { state_->memory = {}; }

}  // namespace sotto
