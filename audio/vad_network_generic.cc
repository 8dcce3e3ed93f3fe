// Four outputs side by side: what every machine has (SSE2, NEON).
#include "audio/vad_network.h"

namespace sotto {
namespace {
constexpr int kLanes = 4;
}
}  // namespace sotto

#include "audio/vad_network_body.h"

namespace sotto {

void vad_network_generic(const VadWeights& weights, const float* input, int n, float* h, float* c,
                         float* probabilities) {
  vad_network(weights, input, n, h, c, probabilities);
}

}  // namespace sotto
