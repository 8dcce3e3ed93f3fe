// The memory of the device as the kernels see it: the second half of ptx.cuh, which includes it.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

// ---- Copies from global to shared memory that run beside the thread ------------------------------------------------

#ifdef __CUDACC__
DEVICE void cp_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)) : "memory");
}
// Zeros where it isn't valid; `global` must be an address all the same.
DEVICE void cp_async_16_zfill(void* shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(valid ? 16 : 0) : "memory");
}
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all but this thread's kNewest newest groups have landed.
template <int kNewest>
DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}
#else
DEVICE void cp_async_16(void* shared, const void* global HERE) { simt::copy_async(shared, global, true, place); }
DEVICE void cp_async_16_zfill(void* shared, const void* global, bool valid HERE) {
  simt::copy_async(shared, global, valid, place);
}
DEVICE void cp_async_commit() { simt::commit_copies(); }
template <int kNewest>
DEVICE void cp_async_wait(HERE_ALONE) {
  simt::wait_copies(kNewest, place);
}
#endif

// ---- Memory --------------------------------------------------------------------------------------------------------

// Global: load, store; load_readonly for what no thread writes during the kernel; load_streamed for what is read once,
// load_kept for what the next kernels read again. Values of 1, 2, 4, 8 or 16 bytes, naturally aligned.
#ifdef __CUDACC__
template <class T>
DEVICE T load(const T* p) {
  return *p;
}
template <class T>
DEVICE void store(T* p, T value) {
  *p = value;
}
template <class T>
DEVICE T load_shared(const T* p) {
  return *p;
}
template <class T>
DEVICE void store_shared(T* p, T value) {
  *p = value;
}

template <class T, class Word>
DEVICE T from_words(const Word& words) {
  static_assert(sizeof(T) == sizeof(Word));
  T result;
  __builtin_memcpy(&result, &words, sizeof(T));
  return result;
}
template <class T>
DEVICE T load_readonly(const T* p) {
  if constexpr (sizeof(T) == 16) {
    return from_words<T>(__ldg(reinterpret_cast<const uint4*>(p)));
  } else if constexpr (sizeof(T) == 8) {
    return from_words<T>(__ldg(reinterpret_cast<const uint2*>(p)));
  } else if constexpr (sizeof(T) == 4) {
    return from_words<T>(__ldg(reinterpret_cast<const unsigned int*>(p)));
  } else if constexpr (sizeof(T) == 2) {
    return from_words<T>(__ldg(reinterpret_cast<const unsigned short*>(p)));
  } else {
    return from_words<T>(__ldg(reinterpret_cast<const unsigned char*>(p)));
  }
}
template <class T>
DEVICE T load_hinted(const T* p, uint64_t policy) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  if constexpr (sizeof(T) == 16) {
    u32x4 w;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(w.v[0]), "=r"(w.v[1]), "=r"(w.v[2]), "=r"(w.v[3])
                 : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return from_words<T>(w);
  } else if constexpr (sizeof(T) == 8) {
    u32x2 w;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(w.v[0]), "=r"(w.v[1]) : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return from_words<T>(w);
  } else {
    uint32_t w;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(w) : "l"(__cvta_generic_to_global(p)), "l"(policy));
    return from_words<T>(w);
  }
}
template <class T>
DEVICE T load_streamed(const T* p) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return load_hinted(p, policy);
}
template <class T>
DEVICE T load_kept(const T* p) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return load_hinted(p, policy);
}
DEVICE void prefetch_l2(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
}
#else
template <class T>
DEVICE T load(const T* p HERE) {
  simt::access(simt::Space::global, p, sizeof(T), false, place);
  return *p;
}
template <class T>
DEVICE void store(T* p, T value HERE) {
  simt::access(simt::Space::global, p, sizeof(T), true, place);
  *p = value;
}
template <class T>
DEVICE T load_shared(const T* p HERE) {
  simt::access(simt::Space::shared, p, sizeof(T), false, place);
  return *p;
}
template <class T>
DEVICE void store_shared(T* p, T value HERE) {
  simt::access(simt::Space::shared, p, sizeof(T), true, place);
  *p = value;
}
template <class T>
DEVICE T load_readonly(const T* p HERE) { return load(p, place); }
template <class T>
DEVICE T load_streamed(const T* p HERE) { return load(p, place); }
template <class T>
DEVICE T load_kept(const T* p HERE) { return load(p, place); }
DEVICE void prefetch_l2(const void*) {}
#endif

// ---- Between blocks ------------------------------------------------------------------------------------------------

// Atomics and ordered accesses of 4 bytes, scope of the GPU; order comes from the operation, there are no fences.
#ifdef __CUDACC__
DEVICE uint32_t atomic_add_acq_rel(uint32_t* p, uint32_t value) {
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old) : "l"(__cvta_generic_to_global(p)), "r"(value) : "memory");
  return old;
}
DEVICE uint32_t atomic_add_relaxed(uint32_t* p, uint32_t value) {
  uint32_t old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old) : "l"(__cvta_generic_to_global(p)), "r"(value) : "memory");
  return old;
}
DEVICE int32_t atomic_max_relaxed(int32_t* p, int32_t value) {
  int32_t old;
  asm volatile("atom.relaxed.gpu.global.max.s32 %0, [%1], %2;"
               : "=r"(old) : "l"(__cvta_generic_to_global(p)), "r"(value) : "memory");
  return old;
}
template <class T>
DEVICE T load_acquire(const T* p) {
  static_assert(sizeof(T) == 4);
  uint32_t word;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(__cvta_generic_to_global(p)) : "memory");
  return from_words<T>(word);
}
template <class T>
DEVICE void store_release(T* p, T value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)),
               "r"(from_words<uint32_t>(value)) : "memory");
}
// For memory of the host that it reads while the kernel runs.
template <class T>
DEVICE void store_release_system(T* p, T value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)),
               "r"(from_words<uint32_t>(value)) : "memory");
}
template <class T>
DEVICE T load_volatile(const T* p) {
  return *const_cast<const volatile T*>(p);
}
template <class T>
DEVICE void store_volatile(T* p, T value) {
  *const_cast<volatile T*>(p) = value;
}
#else
DEVICE uint32_t atomic_add_acq_rel(uint32_t* p, uint32_t value HERE) {
  simt::access(simt::Space::global, p, 4, true, place);
  return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}
DEVICE uint32_t atomic_add_relaxed(uint32_t* p, uint32_t value HERE) {
  simt::access(simt::Space::global, p, 4, true, place);
  return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}
DEVICE int32_t atomic_max_relaxed(int32_t* p, int32_t value HERE) {
  simt::access(simt::Space::global, p, 4, true, place);
  int32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (old < value && !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
DEVICE T load_acquire(const T* p HERE) {
  static_assert(sizeof(T) == 4);
  simt::access(simt::Space::global, p, 4, false, place);
  simt::yield();
  return std::bit_cast<T>(__atomic_load_n(reinterpret_cast<const uint32_t*>(p), __ATOMIC_ACQUIRE));
}
template <class T>
DEVICE void store_release(T* p, T value HERE) {
  simt::access(simt::Space::global, p, 4, true, place);
  __atomic_store_n(reinterpret_cast<uint32_t*>(p), std::bit_cast<uint32_t>(value), __ATOMIC_RELEASE);
}
template <class T>
DEVICE void store_release_system(T* p, T value HERE) {
  store_release(p, value, place);
}
template <class T>
DEVICE T load_volatile(const T* p HERE) {
  simt::access(simt::Space::global, p, sizeof(T), false, place);
  return *const_cast<const volatile T*>(p);
}
template <class T>
DEVICE void store_volatile(T* p, T value HERE) {
  simt::access(simt::Space::global, p, sizeof(T), true, place);
  *const_cast<volatile T*>(p) = value;
}
#endif

}  // namespace sotto::cuda
