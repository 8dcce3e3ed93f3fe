// Where there is speech: the Silero VAD network for 16 kHz (MIT; github.com/snakers4/silero-vad) in f32, with the
// weights of the ONNX files of the Python package silero-vad 6.2.3 (its safetensors file holds others of the same
// shapes), and the rules that make stretches of speech of its probabilities (its get_speech_timestamps).
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

  void reset();  // the next samples are the first of another sound

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Speech begins with a chunk at or above the threshold and ends where min_silence of chunks below the threshold for the
// end begins.
struct VadSettings {
  float threshold = 0.5f;
  float end_threshold = 0.35f;
  int min_speech_ms = 250;   // shorter speech is dropped
  int min_silence_ms = 100;  // shorter silence doesn't part speech
  int pad_ms = 30;           // added to both ends; neighbours share what is between them
};

struct Speech {
  int64_t start, end;  // samples

  bool operator==(const Speech&) const = default;
};

// The speech in n_samples of sound, in order, from the probabilities of all its chunks.
std::vector<Speech> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                    const VadSettings& settings = {});

}  // namespace sotto
