// One stack that can be left and entered again, and what ThreadSanitizer must be told of it.
#pragma once

#include <cstddef>

extern "C" void simt_switch(void** save, void* load);

namespace sotto::simt {

// The sanitizers see the kernels, not the executor: it is compiled without them, and tells them what happens.
#if defined(SIMT_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
void __tsan_read16(void* at);
void __tsan_write16(void* at);
}
constexpr bool kTsan = true;
inline void tsan_acquire(void* at) { __tsan_acquire(at); }
inline void tsan_release(void* at) { __tsan_release(at); }
inline void tsan_read_16(const void* at) { __tsan_read16(const_cast<void*>(at)); }
inline void tsan_write_16(void* at) { __tsan_write16(at); }
#else
constexpr bool kTsan = false;
inline void tsan_acquire(void*) {}
inline void tsan_release(void*) {}
inline void tsan_read_16(const void*) {}
inline void tsan_write_16(void*) {}
#endif

// munmap(), after which AddressSanitizer knows nothing of what lay there: other memory may be mapped in its place.
void unmap(void* memory, size_t bytes);

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes it start at `entry`, which must never return. `number` staggers stacks, so that equal frames of many fibers
  // don't fall into the same cache sets.
  void prepare(void (*entry)(), int number);
  // The fiber that this function's caller's thread came with.
  void adopt_caller();
  bool prepared() const { return stack_pointer_ != nullptr; }
  static void go(Fiber& from, Fiber& to);

 private:
  void* stack_pointer_ = nullptr;
  std::byte* stack_ = nullptr;
  void* tsan_ = nullptr;
};

}  // namespace sotto::simt
