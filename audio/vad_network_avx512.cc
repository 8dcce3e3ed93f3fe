// 16 outputs side by side. Entered only after a check at run time (vad.cc).
#if defined(__x86_64__)
#include "audio/vad_network.h"

namespace sotto {
namespace {
constexpr int kLanes = 16;
}
}  // namespace sotto

#include "audio/vad_network_body.h"

namespace sotto {

void vad_network_avx512(const VadWeights& weights, const float* input, int n, float* h, float* c,
                        float* probabilities) {
  vad_network(weights, input, n, h, c, probabilities);
}

}  // namespace sotto
#endif
