#include "simt/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the executor knows no such processor"
#endif

// Only in a program that AddressSanitizer is linked to.
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*, size_t);

namespace sotto::simt {
namespace {

constexpr size_t kStack = 128 << 10, kGuard = 4096;
constexpr size_t kStagger = 832, kStaggers = 29;  // coprime with the cache's sets

}  // namespace

void unmap(void* memory, size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory, bytes);
  munmap(memory, bytes);
}

Fiber::~Fiber() {
  if (stack_) unmap(stack_, kGuard + kStack);
#if defined(SIMT_TSAN)
  if (stack_ && tsan_) __tsan_destroy_fiber(tsan_);
#endif
}

void Fiber::prepare(void (*entry)(), int number) {
  if (!stack_) {
    void* memory = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0) {
      std::perror("simt: no memory for a stack");
      std::abort();
    }
    stack_ = static_cast<std::byte*>(memory);
  }
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(stack_ + kGuard, kStack);
#if defined(SIMT_TSAN)
  if (tsan_) __tsan_destroy_fiber(tsan_);
  tsan_ = __tsan_create_fiber(0);
#endif
  auto* top = reinterpret_cast<uint64_t*>(stack_ + kGuard + kStack - (number % kStaggers) * kStagger);
#if defined(__x86_64__)
  *--top = 0;  // where entry would return to; it also aligns the stack as a call does
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int i = 0; i < 6; i++) *--top = 0;
#else
  top -= 20;
  for (int i = 0; i < 20; i++) top[i] = 0;
  top[11] = reinterpret_cast<uint64_t>(entry);  // x30
#endif
  stack_pointer_ = top;
}

void Fiber::adopt_caller() {
#if defined(SIMT_TSAN)
  tsan_ = __tsan_get_current_fiber();
#endif
}

void Fiber::go(Fiber& from, Fiber& to) {
#if defined(SIMT_TSAN)
  __tsan_switch_to_fiber(to.tsan_, 1);  // 1: the switch itself orders nothing
#endif
  simt_switch(&from.stack_pointer_, to.stack_pointer_);
}

}  // namespace sotto::simt
