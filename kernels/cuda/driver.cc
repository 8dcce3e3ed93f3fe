#include "kernels/cuda/driver.h"

#include <dlfcn.h>

#include <type_traits>

namespace sotto::cuda {

const Driver* simulated_driver = nullptr;

namespace {

struct Library {
  Driver driver;
  bool there = true;
  std::string why_not;  // it can't be used; empty: it can
};

Library open_library() {
  Library opened;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const error = dlerror();
    const std::string told = error ? error : "";
    opened.there = !told.empty() && !told.starts_with("libcuda.so.1: cannot open shared object file");
    opened.why_not = opened.there ? "the NVIDIA driver could not be opened: " + told
                                  : "this machine has no NVIDIA driver (libcuda.so.1)";
    return opened;
  }
  const auto find = [&](auto& member, const char* symbol) {
    void* address = dlsym(library, symbol);
    if (!address && opened.why_not.empty()) {
      opened.why_not = std::string("the NVIDIA driver is too old: it has no ") + symbol;
    }
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(address);
  };
#define SOTTO_DRIVER_FIND(member, symbol, arguments) find(opened.driver.member, #symbol);
  SOTTO_DRIVER_FUNCTIONS(SOTTO_DRIVER_FIND)
#undef SOTTO_DRIVER_FIND
  return opened;
}

const Library& the_library() {
  static const Library library = open_library();
  return library;
}

}  // namespace

const Driver* open_driver(std::string& why_not) {
  why_not = the_library().why_not;
  return why_not.empty() ? &the_library().driver : nullptr;
}

bool driver_is_there() { return the_library().there; }

}  // namespace sotto::cuda
