// Where there is speech: the Silero VAD network for 16 kHz (MIT; github.com/snakers4/silero-vad) in f32, with the
// weights of the ONNX files of the Python package silero-vad 6.2.3 (its safetensors file holds others of the same
// shapes). speech_finder.h makes stretches of its probabilities.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sotto {

constexpr int kVadChunk = 512;  // samples that one probability stands for: 32 ms

class Vad {
 public:
  // The path of silero_vad_16k_op15.onnx. Throws Error for a file that isn't that network.
  explicit Vad(const std::string& weights_path);
  ~Vad();

  // Probability of speech in each chunk of 512 samples, which follow those of the call before; a last chunk that isn't
  // whole is filled up with zeros. However the sound is cut (at multiples of 512), the values are the same.
  std::vector<float> push(std::span<const float> samples);

  // The same of a sound on its own, without a bearing on what is pushed.
  std::vector<float> alone(std::span<const float> samples) const;

  void reset();  // the next samples are the first of another sound

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sotto
