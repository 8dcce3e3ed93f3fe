#include "kernels/cuda/log_mel.h"

#include <cmath>
#include <numbers>

namespace sotto::cuda {

std::string log_mel_kernel(int bins) { return std::string("log_mel_") + std::to_string(bins); }

LaunchShape log_mel_shape(int n_frames) {
  constexpr int kRow = kLogMelFrames + 4, kSamples = (kLogMelFrames - 1) * kMelHop + kMelWindow;
  return {.grid_x = static_cast<uint32_t>(ceil_div(n_frames, kLogMelFrames)),
          .threads = kLogMelThreads,
          .shared_bytes = (kSamples + 4 * kFolded * kRow) * sizeof(float)};
}

std::string mel_clamp_kernel(Half half) { return half == Half::f16 ? "mel_clamp_f16" : "mel_clamp_bf16"; }

LaunchShape mel_clamp_shape(int bins) { return mel_operand_shape(1, bins); }

std::vector<float> log_mel_dft() {
  std::vector<float> dft(kFolded * kLogMelThreads * 2);
  for (int n = 0; n < kFolded; n++) {
    for (int thread = 0; thread < kLogMelThreads; thread++) {
      const int k = thread % 128 * 2 + thread / 128;
      if (k >= kSpectrum) continue;
      const double angle = 2 * std::numbers::pi * (k * n % kMelWindow) / kMelWindow;
      const double size = n == 0 || n == kFolded - 1 ? 0.5 : 1;
      dft[(n * kLogMelThreads + thread) * 2] = static_cast<float>(size * std::cos(angle));
      dft[(n * kLogMelThreads + thread) * 2 + 1] = static_cast<float>(size * std::sin(angle));
    }
  }
  return dft;
}

}  // namespace sotto::cuda
