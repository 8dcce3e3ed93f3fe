// The arithmetic of the log-mel spectrogram for many frames side by side: one frame in each lane of a vector, so no
// step but the transposition crosses lanes, and a frame's values depend neither on its lane nor on its neighbours.
#pragma once

#include "models/dims.h"

namespace sotto {

constexpr int kMelSpectrum = kMelWindow / 2 + 1;  // 201 bins of the DFT of real samples, 40 Hz apart

// Plain arrays, because the files for special instruction sets include no standard containers.
struct MelTables {
  int bins;                  // 80 or 128
  const float* window;       // [400] periodic Hann
  const float* unit;         // [400][2] real and imaginary part of exp(-2 pi i k / 400)
  const int* first;          // [bins] a filter's first bin of the spectrum that isn't zero
  const int* count;          // [bins] how many follow, itself included
  const float* weights;      // the filters' weights, one filter after the other
};

// Frame i is samples [160 i, 160 i + 400). Writes log10(max(mel power, 1e-10)) to out [n_frames][bins] and returns the
// largest value written. n_frames > 0.
using MelFrames = float (*)(const MelTables& tables, const float* samples, int n_frames, float* out);

MelFrames best_mel_frames();  // for the machine this runs on

float mel_frames_generic(const MelTables& tables, const float* samples, int n_frames, float* out);
#if defined(__x86_64__)
float mel_frames_avx2(const MelTables& tables, const float* samples, int n_frames, float* out);
float mel_frames_avx512(const MelTables& tables, const float* samples, int n_frames, float* out);
#endif

}  // namespace sotto
