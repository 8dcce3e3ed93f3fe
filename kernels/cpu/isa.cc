#include "kernels/cpu/isa.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "models/error.h"

namespace sotto::cpu {

#if defined(__x86_64__)
extern const Kernels kAvx512Bf16, kAvx512, kAvx2Vnni, kAvx2;
#elif defined(__aarch64__)
extern const Kernels kNeon, kNeonDotprod;
#endif
extern const Kernels kPortable;

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> result;
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) result.push_back(&kAvx512Bf16);
  if (avx512) result.push_back(&kAvx512);
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avxvnni")) result.push_back(&kAvx2Vnni);
  if (avx2) result.push_back(&kAvx2);
#elif defined(__aarch64__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) result.push_back(&kNeonDotprod);
  result.push_back(&kNeon);
#endif
  result.push_back(&kPortable);
  return result;
}

const Kernels& choose_kernels(const std::string& name) {
  const std::vector<const Kernels*> available = available_kernels();
  if (name.empty() || name == "auto") return *available.front();
  std::string names;
  for (const Kernels* kernels : available) {
    if (name == kernels->name) return *kernels;
    names += (names.empty() ? "" : ", ") + std::string(kernels->name);
  }
  throw Error("instruction set \"" + name + "\" can't be used on this machine: use auto or one of " + names);
}

}  // namespace sotto::cpu
