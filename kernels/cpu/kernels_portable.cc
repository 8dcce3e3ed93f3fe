// Any machine: vectors of 16 bytes, as the compiler makes them of the base instruction set.
#include "kernels/cpu/kernels.h"

namespace sotto::cpu {
namespace portable {
constexpr int kVectors = 2;
constexpr int kTileRows = 6;  // 12 sums, 2 columns of B, 1 of A: 15 of 16 registers
#include "kernels/cpu/vector_any.h"
static inline vi dot_u8_i8(vi sum, vi a, vi b) { return dot_by_bytes(sum, a, b); }
#include "kernels/cpu/generic.h"
}  // namespace portable

extern constexpr Kernels kPortable = portable::table("portable");

}  // namespace sotto::cpu
