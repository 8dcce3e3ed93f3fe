#include "kernels/cuda/driver.h"

#include <dlfcn.h>

#include <type_traits>

namespace sotto::cuda {

const Driver* simulated_driver = nullptr;

const Driver* open_driver(std::string& why_not) {
  static std::string reason;
  static Driver driver;
  static const bool opened = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reason = "this machine has no NVIDIA driver (libcuda.so.1)";
      return false;
    }
    bool all = true;
    const auto find = [&](auto& member, const char* symbol) {
      void* address = dlsym(library, symbol);
      if (!address && all) {
        reason = std::string("the NVIDIA driver is too old: it has no ") + symbol;
        all = false;
      }
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(address);
    };
#define SOTTO_DRIVER_FIND(member, symbol, arguments) find(driver.member, #symbol);
    SOTTO_DRIVER_FUNCTIONS(SOTTO_DRIVER_FIND)
#undef SOTTO_DRIVER_FIND
    return all;
  }();
  why_not = reason;
  return opened ? &driver : nullptr;
}

}  // namespace sotto::cuda
