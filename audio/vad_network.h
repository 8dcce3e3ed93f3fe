// The voice activity network on a few chunks of sound: weights as plain arrays, one function for each instruction set.
#pragma once

namespace sotto {

constexpr int kVadContext = 64;                      // samples of the chunk before
constexpr int kVadInput = kVadContext + 512 + 64;    // with 64 reflected ones at the end
constexpr int kVadBins = 129, kVadPaddedBins = 144;  // of a DFT of 256 points; a whole number of vectors
constexpr int kVadState = 128;
constexpr int kVadBatch = 8;                         // chunks in one call, at most

// Matrices are [in][out], so that the vectors run along the outputs.
struct VadWeights {
  const float* stft;                      // [256][2 * 144]: windowed cosines, then sines; zeros past bin 129
  const float *conv1, *conv1_bias;        // [3 taps * 144][128]
  const float *conv2, *conv2_bias;        // [3 taps * 128][64]
  const float *conv3, *conv3_bias;        // [2 taps * 64][64]: the first tap only ever meets padding
  const float *conv4, *conv4_bias;        // [64][128]: the middle tap, for the same reason
  const float *lstm_input, *lstm_bias;    // [128][512], gates i, f, g, o; both biases added
  const float* lstm_state;                // [128][512]
  const float* last;                      // [128]
  float last_bias;
};

// input [n][kVadInput], n up to kVadBatch; h and c [128] are carried from chunk to chunk; probabilities [n].
using VadNetwork = void (*)(const VadWeights& weights, const float* input, int n, float* h, float* c,
                            float* probabilities);

void vad_network_generic(const VadWeights&, const float* input, int n, float* h, float* c, float* probabilities);
#if defined(__x86_64__)
void vad_network_avx2(const VadWeights&, const float* input, int n, float* h, float* c, float* probabilities);
void vad_network_avx512(const VadWeights&, const float* input, int n, float* h, float* c, float* probabilities);
#endif

}  // namespace sotto
