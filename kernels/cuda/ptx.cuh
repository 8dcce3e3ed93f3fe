// The device as the kernels see it. Each PTX instruction that they use is one function here with its host twin right
// under it: nvcc compiles the first, g++ the second, which hands what concerns other threads to the executor (simt.h).
// No other file has asm or asks which compiler it is.
//
// Semantics are the PTX ISA's, for sm_80 and later: section 9.7 "Instructions", of which 9.7.9 (data movement, cp.async,
// ld with cache hints), 9.7.13 (barriers, shuffles, votes, atomics) and 9.7.14 (ldmatrix, mma fragments).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch.h"

#ifdef __CUDACC__
#define DEVICE __device__ __forceinline__
#define HERE
#define HERE_ALONE
#define KERNEL(name, threads, min_blocks, Args) \
  extern "C" __global__ void __launch_bounds__(threads, min_blocks) name(const __grid_constant__ Args args)
#else
#include <bit>
#include <cstring>

#include "kernels/cuda/simt.h"
#define DEVICE inline
#define HERE , simt::Place place = simt::Place::current()
#define HERE_ALONE simt::Place place = simt::Place::current()
#define KERNEL(name, threads, min_blocks, Args)                                                          \
  static void name##_body(const Args& args);                                                             \
  static const simt::Registration name##_registration(                                                   \
      {#name, threads, sizeof(Args), [](const void* a) { name##_body(*static_cast<const Args*>(a)); }, __FILE__}); \
  static void name##_body([[maybe_unused]] const Args& args)
#endif

namespace sotto::cuda {

// ---- Values --------------------------------------------------------------------------------------------------------

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct alignas(8) u32x2 {
  uint32_t v[2];
};
struct alignas(16) u32x4 {
  uint32_t v[4];
};
struct alignas(8) f32x2 {
  float v[2];
};
struct alignas(16) f32x4 {
  float v[4];
};

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;

#ifdef __CUDACC__
DEVICE float as_float(uint32_t bits) { return __uint_as_float(bits); }
DEVICE uint32_t as_bits(float value) { return __float_as_uint(value); }
#else
DEVICE float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
DEVICE uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }
#endif

DEVICE float to_float(bf16 value) { return as_float(uint32_t{value.bits} << 16); }

#ifdef __CUDACC__
DEVICE float to_float(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
// Two values in a register, `low` in the low half, rounded to nearest even.
template <class T>
DEVICE uint32_t pack(float low, float high) {
  uint32_t result;
  if constexpr (kSame<T, f16>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  }
  return result;
}
template <class T>
DEVICE T from_float(float value) {
  return T{static_cast<uint16_t>(pack<T>(value, 0.0f))};
}
#else
DEVICE float to_float(f16 value) {
  const uint32_t sign = uint32_t(value.bits & 0x8000u) << 16, magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // Exponents are moved by a multiplication, which makes subnormals normal.
  return as_float(sign | as_bits(as_float(magnitude << 13) * 0x1p112f));
}
DEVICE uint16_t f16_bits(float value) {
  const uint32_t bits = as_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 65520 on: infinity
  if (magnitude < 0x38800000u) {  // subnormal: the addition rounds to steps of 2^-24
    return static_cast<uint16_t>(sign | (as_bits(as_float(magnitude) + 0.5f) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}
DEVICE uint16_t bf16_bits(float value) {
  const uint32_t bits = as_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
template <class T>
DEVICE T from_float(float value) {
  return T{kSame<T, f16> ? f16_bits(value) : bf16_bits(value)};
}
template <class T>
DEVICE uint32_t pack(float low, float high) {
  return from_float<T>(low).bits | uint32_t{from_float<T>(high).bits} << 16;
}
#endif

template <class T>
DEVICE void unpack(uint32_t bits, float& low, float& high) {
  low = to_float(T{static_cast<uint16_t>(bits)});
  high = to_float(T{static_cast<uint16_t>(bits >> 16)});
}

// Four signed bytes in a register, a lowest.
DEVICE uint32_t pack_s8(int a, int b, int c, int d) {
  return (uint32_t(a) & 0xffu) | (uint32_t(b) & 0xffu) << 8 | (uint32_t(c) & 0xffu) << 16 | uint32_t(d) << 24;
}

#ifdef __CUDACC__
DEVICE int dot4_s8(uint32_t a, uint32_t b, int c) {
  int result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
DEVICE float exp2_approx(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE float rsqrt_approx(float x) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
#else
DEVICE int dot4_s8(uint32_t a, uint32_t b, int c) {
  for (int i = 0; i < 4; i++) c += int(int8_t(a >> 8 * i)) * int(int8_t(b >> 8 * i));
  return c;
}
DEVICE float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }  // .ftz
DEVICE float exp2_approx(float x) { return flushed(exp2f(flushed(x))); }
DEVICE float rsqrt_approx(float x) { return 1.0f / sqrtf(flushed(x)); }
DEVICE float reciprocal_approx(float x) { return flushed(1.0f / flushed(x)); }
#endif

// ---- Where a thread stands -----------------------------------------------------------------------------------------

#ifdef __CUDACC__
DEVICE int thread() { return threadIdx.x; }
DEVICE int threads() { return blockDim.x; }
DEVICE int block_x() { return blockIdx.x; }
DEVICE int block_y() { return blockIdx.y; }
DEVICE int block_z() { return blockIdx.z; }
DEVICE int grid_x() { return gridDim.x; }
DEVICE int grid_y() { return gridDim.y; }
DEVICE int grid_z() { return gridDim.z; }
// Dynamic shared memory, 1024-byte aligned.
DEVICE std::byte* shared_memory() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  return reinterpret_cast<std::byte*>(dynamic_shared);
}
DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
#else
DEVICE int thread() { return static_cast<int>(simt::position().thread); }
DEVICE int threads() { return static_cast<int>(simt::position().threads); }
DEVICE int block_x() { return static_cast<int>(simt::position().block.x); }
DEVICE int block_y() { return static_cast<int>(simt::position().block.y); }
DEVICE int block_z() { return static_cast<int>(simt::position().block.z); }
DEVICE int grid_x() { return static_cast<int>(simt::position().grid.x); }
DEVICE int grid_y() { return static_cast<int>(simt::position().grid.y); }
DEVICE int grid_z() { return static_cast<int>(simt::position().grid.z); }
DEVICE std::byte* shared_memory() { return simt::position().shared; }
#endif
DEVICE int lane() { return thread() & 31; }
DEVICE int warp() { return thread() >> 5; }

// ---- Barriers ------------------------------------------------------------------------------------------------------

#ifdef __CUDACC__
DEVICE void sync_threads() { asm volatile("bar.sync 0;" ::: "memory"); }
DEVICE void sync_warp() { __syncwarp(); }
// Barriers 1 to 15, of n_threads threads, a multiple of 32.
DEVICE void barrier_sync(int id, int n_threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n_threads) : "memory");
}
DEVICE void barrier_arrive(int id, int n_threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n_threads) : "memory");
}
#else
DEVICE void sync_threads(HERE_ALONE) { simt::barrier(0, 0, true, place); }
DEVICE void sync_warp(HERE_ALONE) { simt::sync_warp(place); }
DEVICE void barrier_sync(int id, int n_threads HERE) { simt::barrier(id, n_threads, true, place); }
DEVICE void barrier_arrive(int id, int n_threads HERE) { simt::barrier(id, n_threads, false, place); }
#endif

// ---- Between the lanes of a warp -----------------------------------------------------------------------------------

#ifdef __CUDACC__
template <class T>
DEVICE T shuffle(T value, int from_lane) {
  return __shfl_sync(0xffffffffu, value, from_lane);
}
template <class T>
DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
DEVICE T shuffle_down(T value, int n) {
  return __shfl_down_sync(0xffffffffu, value, n);
}
template <class T>
DEVICE T shuffle_up(T value, int n) {
  return __shfl_up_sync(0xffffffffu, value, n);
}
DEVICE uint32_t ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
DEVICE bool any(bool vote) { return __any_sync(0xffffffffu, vote); }
DEVICE bool all(bool vote) { return __all_sync(0xffffffffu, vote); }
#else
template <class T>
DEVICE T shuffle(T value, int from_lane HERE) {
  static_assert(sizeof(T) == 4);
  return std::bit_cast<T>(simt::shuffle(std::bit_cast<uint32_t>(value), from_lane & 31, place));
}
template <class T>
DEVICE T shuffle_xor(T value, int mask HERE) {
  return shuffle(value, lane() ^ mask, place);
}
template <class T>
DEVICE T shuffle_down(T value, int n HERE) {
  return shuffle(value, lane() + n > 31 ? lane() : lane() + n, place);
}
template <class T>
DEVICE T shuffle_up(T value, int n HERE) {
  return shuffle(value, lane() - n < 0 ? lane() : lane() - n, place);
}
DEVICE uint32_t ballot(bool vote HERE) { return simt::ballot(vote, place); }
DEVICE bool any(bool vote HERE) { return simt::ballot(vote, place) != 0; }
DEVICE bool all(bool vote HERE) { return simt::ballot(vote, place) == 0xffffffffu; }
#endif

DEVICE float warp_sum(float value) {
  for (int mask = 16; mask > 0; mask >>= 1) value += shuffle_xor(value, mask);
  return value;
}
DEVICE float warp_max(float value) {
  for (int mask = 16; mask > 0; mask >>= 1) value = fmaxf(value, shuffle_xor(value, mask));
  return value;
}

// ---- Tensor cores --------------------------------------------------------------------------------------------------

// 8 x 8 matrices of two-byte values from shared memory. Lane l has the address, 16-byte aligned, of row l % 8 of matrix
// l / 8; it gets of each matrix row l / 4, columns 2 (l % 4) and the next. Transposed: of the transposed matrices.
#ifdef __CUDACC__
DEVICE void ldmatrix_x4(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
DEVICE void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
DEVICE void ldmatrix_x2(uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}
DEVICE void ldmatrix_x2_trans(uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}
#else
DEVICE void ldmatrix_x4(uint32_t (&r)[4], const void* row HERE) { simt::ldmatrix(r, row, 4, false, place); }
DEVICE void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row HERE) { simt::ldmatrix(r, row, 4, true, place); }
DEVICE void ldmatrix_x2(uint32_t (&r)[2], const void* row HERE) { simt::ldmatrix(r, row, 2, false, place); }
DEVICE void ldmatrix_x2_trans(uint32_t (&r)[2], const void* row HERE) { simt::ldmatrix(r, row, 2, true, place); }
#endif

// d += a b, one 16 x 8 result of 16 values in k (s8: 32), row-major a, column-major b.
#ifdef __CUDACC__
DEVICE void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <class T>
DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (kSame<T, f16>) {
    mma_f16(d, a, b);
  } else {
    mma_bf16(d, a, b);
  }
}
// All products of m x n tiles in one step of k.
template <class T, int kM, int kN>
DEVICE void mma_tile(float (&d)[kM][kN][4], const uint32_t (&a)[kM][4], const uint32_t (&b)[kN][2]) {
#pragma unroll
  for (int m = 0; m < kM; m++) {
#pragma unroll
    for (int n = 0; n < kN; n++) mma<T>(d[m][n], a[m], b[n]);
  }
}
template <int kM, int kN>
DEVICE void mma_tile_s8(int32_t (&d)[kM][kN][4], const uint32_t (&a)[kM][4], const uint32_t (&b)[kN][2]) {
#pragma unroll
  for (int m = 0; m < kM; m++) {
#pragma unroll
    for (int n = 0; n < kN; n++) mma_s8(d[m][n], a[m], b[n]);
  }
}
#else
template <class T>
DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] HERE) {
  simt::mma(d, a, b, 1, 1, kSame<T, f16> ? simt::Operand::f16 : simt::Operand::bf16, place);
}
DEVICE void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] HERE) { mma<f16>(d, a, b, place); }
DEVICE void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] HERE) { mma<bf16>(d, a, b, place); }
DEVICE void mma_s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] HERE) {
  simt::mma(d, a, b, 1, 1, simt::Operand::s8, place);
}
template <class T, int kM, int kN>
DEVICE void mma_tile(float (&d)[kM][kN][4], const uint32_t (&a)[kM][4], const uint32_t (&b)[kN][2] HERE) {
  simt::mma(d, a[0], b[0], kM, kN, kSame<T, f16> ? simt::Operand::f16 : simt::Operand::bf16, place);
}
template <int kM, int kN>
DEVICE void mma_tile_s8(int32_t (&d)[kM][kN][4], const uint32_t (&a)[kM][4], const uint32_t (&b)[kN][2] HERE) {
  simt::mma(d, a[0], b[0], kM, kN, simt::Operand::s8, place);
}
#endif

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
