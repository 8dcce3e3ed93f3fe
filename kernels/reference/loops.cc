#include "kernels/reference/loops.h"

namespace sotto::reference {

const Loops& loops() {
#if defined(__x86_64__)
  static const Loops& best = __builtin_cpu_supports("x86-64-v4")   ? loops_avx512()
                             : __builtin_cpu_supports("x86-64-v3") ? loops_avx2()
                                                                   : loops_portable();
  return best;
#else
  return loops_portable();
#endif
}

}  // namespace sotto::reference
