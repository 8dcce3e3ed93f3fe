// 6 rows x 8 columns of four-lane vectors, which every 64-bit machine has: 15 of 16 registers.
#include "kernels/reference/loops.h"

namespace sotto::reference {
namespace {

constexpr int kLanes = 4, kVectors = 2, kTileRows = 6;
#include "kernels/reference/loops_inline.h"

constexpr Loops kLoops = {"portable", kPanel, multiply, softmax, gelu, attend_history};

}  // namespace

const Loops& loops_portable() { return kLoops; }

}  // namespace sotto::reference
