// The device as the kernels see it. Each PTX instruction that they use is one function here with its host twin right
// under it: nvcc compiles the first, g++ the second, which hands what concerns other threads to the executor (simt.h).
// No files but this and ptx_memory.cuh, which it includes, have asm or ask which compiler it is.
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

// Four signed bytes, stored + 128, as two pairs of f16: exact.
#ifdef __CUDACC__
DEVICE void s8_to_f16(uint32_t bytes, uint32_t& low, uint32_t& high) {
  asm("{ .reg .b32 l, h;\n"
      "prmt.b32 l, %2, 0x64646464, 0x4140;\n"  // 0x64xx is 1024 + xx in f16
      "prmt.b32 h, %2, 0x64646464, 0x4342;\n"
      "sub.f16x2 %0, l, %3;\n"
      "sub.f16x2 %1, h, %3; }"
      : "=r"(low), "=r"(high) : "r"(bytes), "r"(0x64806480u));
}
#else
DEVICE void s8_to_f16(uint32_t bytes, uint32_t& low, uint32_t& high) {
  const auto value = [&](int i) { return static_cast<float>(static_cast<int>(bytes >> 8 * i & 0xffu) - 128); };
  low = pack<f16>(value(0), value(1));
  high = pack<f16>(value(2), value(3));
}
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

// The largest and the smallest of the lanes' values, in all lanes.
#ifdef __CUDACC__
DEVICE uint32_t reduce_max(uint32_t value) { return __reduce_max_sync(0xffffffffu, value); }
DEVICE uint32_t reduce_min(uint32_t value) { return __reduce_min_sync(0xffffffffu, value); }
#else
DEVICE uint32_t reduce_max(uint32_t value HERE) { return simt::reduce(value, true, place); }
DEVICE uint32_t reduce_min(uint32_t value HERE) { return simt::reduce(value, false, place); }
#endif

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

// One 8 x 8 matrix transposed between registers: lane l brings row l / 4, columns 2 (l % 4) and the next, and gets the same
// of the transposed matrix.
#ifdef __CUDACC__
DEVICE uint32_t transpose_8x8(uint32_t two) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(two));
  return result;
}
#else
DEVICE uint32_t transpose_8x8(uint32_t two HERE) { return simt::transpose(two, place); }
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

}  // namespace sotto::cuda

#include "kernels/cuda/ptx_memory.cuh"
