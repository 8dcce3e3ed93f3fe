// The log-mel spectrogram on the device, as the host sees it: samples in, the first convolution's operand out. The same
// two steps as audio/mel: log10 of the mel power with its maximum, then, when the maximum of the whole sound is known,
// the clamp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/encoder_kernels.h"

namespace sotto::cuda {

constexpr int kSpectrum = kMelWindow / 2 + 1;   // bins of the DFT of real samples
constexpr int kFolded = kMelWindow / 4 + 1;     // terms of a bin after both foldings
constexpr int kLogMelThreads = 256;             // 128 for the even bins of the spectrum, 128 for the odd ones
constexpr int kLogMelFrames = 16;               // of one block

// A filter of the mel bank: `count` weights from bin `first` of the spectrum on.
struct alignas(8) MelFilter {
  int16_t first, count;
  int32_t weights;  // where in the weights
};

struct LogMelArgs {
  const float* samples;       // [160 (n_frames - 1) + 400] in [-1, 1], 16-byte aligned
  const float* window;        // [kFolded] of the periodic Hann window: (1 - cos(2 pi n / 400)) / 2
  const float* dft;           // [kFolded][kLogMelThreads][2], of log_mel_dft
  const MelFilter* filters;   // [bins]
  const float* weights;       // of the filters
  float* log_mel;             // [n_frames][bins]: log10(max(mel power, 1e-10))
  int32_t* maximum;           // in ordered_bits; the caller sets it, to that of -10 before the first frame
  int32_t n_frames;
};

struct MelClampArgs {
  const float* log_mel;    // [n_frames][bins]
  const int32_t* maximum;  // of the whole sound
  void* to;                // half [kFrameRows][bins]: rows 1 to 3000 are written, zeros past n_frames
  int32_t n_frames, bins;
};

std::string log_mel_kernel(int bins);
LaunchShape log_mel_shape(int n_frames);
std::string mel_clamp_kernel(Half half);
LaunchShape mel_clamp_shape(int bins);

// LogMelArgs::dft: cos and sin of 2 pi k n / 400 for the bin k of each thread, halved for n = 0 and n = 100, which the
// foldings count twice; zeros for threads that have no bin.
std::vector<float> log_mel_dft();

}  // namespace sotto::cuda
