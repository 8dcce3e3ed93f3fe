// 6 rows x 64 columns: 24 sums, 4 vectors of b, and a's value broadcast by the multiply: 28 of 32 registers.
#include "kernels/reference/loops.h"

namespace sotto::reference {
namespace {

constexpr int kLanes = 16, kVectors = 4, kTileRows = 6;
#include "kernels/reference/loops_inline.h"

constexpr Loops kLoops = {"AVX-512", kPanel, multiply, softmax, gelu, attend_history};

}  // namespace

const Loops& loops_avx512() { return kLoops; }

}  // namespace sotto::reference
