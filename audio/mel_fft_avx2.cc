// 8 frames side by side. Entered only after a check at run time (best_mel_frames).
#if defined(__x86_64__)
#include "audio/mel_fft.h"

namespace sotto {
namespace {
constexpr int kLanes = 8;
}
}  // namespace sotto

#include "audio/mel_fft_body.h"

namespace sotto {

float mel_frames_avx2(const MelTables& tables, const float* samples, int n_frames, float* out) {
  return mel_frames(tables, samples, n_frames, out);
}

}  // namespace sotto
#endif
