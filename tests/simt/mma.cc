// mma.sync of a whole warp: fragments are gathered from the lanes' registers, multiplied as f32 (int32 for s8) and put
// back. Where each value is: PTX ISA 9.7.14.5, "Matrix fragments for mma.m16n8k16 with floating point type" and
// "mma.m16n8k32"; a lane's group is lane / 4, its place in the group lane % 4.
#include <cstdlib>
#include <cstring>

#include "kernels/cuda/ptx.cuh"
#include "simt/block.h"

namespace sotto::simt {
namespace {

constexpr int kMaxM = 8, kMaxN = 16;

struct Fragments {
  void* d;
  const uint32_t* a;
  const uint32_t* b;
  int m, n;
  Operand operand;
};

MultiplyF32 choose_multiply() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return multiply_f32_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_f32_avx2;
#endif
  return multiply_f32_portable;
}

// All f16 as f32: bf16 needs a shift, this a table.
const float* f16_table() {
  static const float* const table = [] {
    auto* values = static_cast<float*>(std::malloc(65536 * sizeof(float)));
    for (uint32_t i = 0; i < 65536; i++) values[i] = cuda::to_float(cuda::f16{static_cast<uint16_t>(i)});
    return values;
  }();
  return table;
}

// Two values of a register, to `low` and `high`.
template <bool kF16>
inline void widen(const float* table, uint32_t bits, float& low, float& high) {
  if constexpr (kF16) {
    low = table[bits & 0xffffu];
    high = table[bits >> 16];
  } else {
    const uint32_t shifted = bits << 16, kept = bits & 0xffff0000u;
    std::memcpy(&low, &shifted, 4);
    std::memcpy(&high, &kept, 4);
  }
}

inline const Fragments& of(const Warp& warp, int lane) {
  return *static_cast<const Fragments*>(warp.threads[lane].operand);
}

template <bool kF16>
void multiply_floats(Warp& warp) {
  static const MultiplyF32 multiply = choose_multiply();
  const float* table = f16_table();
  const int m = of(warp, 0).m, n = of(warp, 0).n, columns = 8 * n;
  alignas(64) float a[kMaxM * 16][16], b[16 * 8 * kMaxN], d[kMaxM * 16 * 8 * kMaxN];
  for (int lane = 0; lane < 32; lane++) {
    const Fragments& mine = of(warp, lane);
    const int group = lane / 4, pair = lane % 4 * 2;
    for (int i = 0; i < m; i++) {
      const uint32_t* from = mine.a + 4 * i;
      float* const upper = a[16 * i + group];
      float* const lower = a[16 * i + group + 8];
      widen<kF16>(table, from[0], upper[pair], upper[pair + 1]);
      widen<kF16>(table, from[1], lower[pair], lower[pair + 1]);
      widen<kF16>(table, from[2], upper[pair + 8], upper[pair + 9]);
      widen<kF16>(table, from[3], lower[pair + 8], lower[pair + 9]);
    }
    for (int j = 0; j < n; j++) {
      const uint32_t* from = mine.b + 2 * j;
      float* const at = b + pair * columns + 8 * j + group;
      widen<kF16>(table, from[0], at[0], at[columns]);
      widen<kF16>(table, from[1], at[8 * columns], at[9 * columns]);
    }
    const float* from = static_cast<const float*>(mine.d);
    for (int i = 0; i < m; i++) {
      float* const upper = d + (16 * i + group) * columns + pair;
      float* const lower = upper + 8 * columns;
      for (int j = 0; j < n; j++, from += 4) {
        std::memcpy(upper + 8 * j, from, 8);
        std::memcpy(lower + 8 * j, from + 2, 8);
      }
    }
  }
  multiply(d, a[0], b, m, n);
  for (int lane = 0; lane < 32; lane++) {
    const int group = lane / 4, pair = lane % 4 * 2;
    float* to = static_cast<float*>(of(warp, lane).d);
    for (int i = 0; i < m; i++) {
      const float* const upper = d + (16 * i + group) * columns + pair;
      const float* const lower = upper + 8 * columns;
      for (int j = 0; j < n; j++, to += 4) {
        std::memcpy(to, upper + 8 * j, 8);
        std::memcpy(to + 2, lower + 8 * j, 8);
      }
    }
  }
}

void multiply_bytes(Warp& warp) {
  const int m = of(warp, 0).m, n = of(warp, 0).n;
  for (int i = 0; i < m; i++) {
    int8_t a[16][32];
    for (int lane = 0; lane < 32; lane++) {
      const uint32_t* from = of(warp, lane).a + 4 * i;
      const int group = lane / 4, four = lane % 4 * 4;
      std::memcpy(&a[group][four], &from[0], 4);
      std::memcpy(&a[group + 8][four], &from[1], 4);
      std::memcpy(&a[group][four + 16], &from[2], 4);
      std::memcpy(&a[group + 8][four + 16], &from[3], 4);
    }
    for (int j = 0; j < n; j++) {
      int8_t b[8][32];
      for (int lane = 0; lane < 32; lane++) {
        const uint32_t* from = of(warp, lane).b + 2 * j;
        std::memcpy(&b[lane / 4][lane % 4 * 4], &from[0], 4);
        std::memcpy(&b[lane / 4][lane % 4 * 4 + 16], &from[1], 4);
      }
      for (int lane = 0; lane < 32; lane++) {
        int32_t* d = static_cast<int32_t*>(of(warp, lane).d) + (i * n + j) * 4;
        for (int e = 0; e < 4; e++) {
          const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
          int32_t sum = 0;
          for (int k = 0; k < 32; k++) sum += int32_t{a[row][k]} * b[column][k];
          d[e] = static_cast<int32_t>(static_cast<uint32_t>(d[e]) + static_cast<uint32_t>(sum));
        }
      }
    }
  }
}

void multiply_fragments(Warp& warp) {
  const Fragments& first = of(warp, 0);
  worker().counters.mma_operations += int64_t{2} * 16 * 8 * (first.operand == Operand::s8 ? 32 : 16) * first.m * first.n;
  if (first.operand == Operand::s8) {
    multiply_bytes(warp);
  } else if (first.operand == Operand::f16) {
    multiply_floats<true>(warp);
  } else {
    multiply_floats<false>(warp);
  }
}

}  // namespace

void mma(void* d, const uint32_t* a, const uint32_t* b, int m, int n, Operand operand, Place place) {
  if (m > kMaxM || n > kMaxN) worker().fail("mma_tile takes 8 x 16 tiles at most, at " + text_of(place));
  Fragments mine = {d, a, b, m, n, operand};
  meet(Operation::mma, &mine, place, multiply_fragments);
}

}  // namespace sotto::simt
