// Four frames side by side: what every machine has (SSE2, NEON).
#include "audio/mel_fft.h"

namespace sotto {
namespace {
constexpr int kLanes = 4;
}
}  // namespace sotto

#include "audio/mel_fft_body.h"

namespace sotto {

float mel_frames_generic(const MelTables& tables, const float* samples, int n_frames, float* out) {
  return mel_frames(tables, samples, n_frames, out);
}

}  // namespace sotto
