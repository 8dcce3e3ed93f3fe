// 6 rows x 16 columns: 12 sums, 2 vectors of b and one of a: 15 of 16 registers.
#include "kernels/reference/loops.h"

namespace sotto::reference {
namespace {

constexpr int kLanes = 8, kVectors = 2, kTileRows = 6;
#include "kernels/reference/loops_inline.h"

constexpr Loops kLoops = {"AVX2", kPanel, multiply, softmax, gelu, attend_history};

}  // namespace

const Loops& loops_avx2() { return kLoops; }

}  // namespace sotto::reference
