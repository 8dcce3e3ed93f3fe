// The smallest kernels there are: each does one thing of ptx.cuh, so that it can be compared with the PTX ISA's tables
// here, and with a GPU where there is one.
#include "cuda/twins.h"
#include "kernels/cuda/ptx.cuh"

namespace sotto::test {

using namespace cuda;

// Shared memory: rows of 16 bytes in order; lane l gives row in[l][0].
template <int kMatrices, bool kTransposed>
DEVICE void load_matrices(const TwinArgs& args) {
  auto* rows = reinterpret_cast<u32x4*>(shared_memory());
  const auto* from = static_cast<const u32x4*>(args.memory);
  store_shared(rows + thread(), load(from + thread()));
  sync_warp();
  const void* row = rows + load(args.in + thread());
  uint32_t r[kMatrices];
  if constexpr (kMatrices == 4 && kTransposed) ldmatrix_x4_trans(r, row);
  if constexpr (kMatrices == 4 && !kTransposed) ldmatrix_x4(r, row);
  if constexpr (kMatrices == 2 && kTransposed) ldmatrix_x2_trans(r, row);
  if constexpr (kMatrices == 2 && !kTransposed) ldmatrix_x2(r, row);
  for (int i = 0; i < kMatrices; i++) store(args.out + thread() * kMatrices + i, r[i]);
}
KERNEL(twin_ldmatrix_x4, 32, 1, TwinArgs) { load_matrices<4, false>(args); }
KERNEL(twin_ldmatrix_x4_trans, 32, 1, TwinArgs) { load_matrices<4, true>(args); }
KERNEL(twin_ldmatrix_x2, 32, 1, TwinArgs) { load_matrices<2, false>(args); }
KERNEL(twin_ldmatrix_x2_trans, 32, 1, TwinArgs) { load_matrices<2, true>(args); }

// in: a[4], b[2], d[4] of each lane.
template <class T>
DEVICE void multiply(const TwinArgs& args) {
  const uint32_t* in = args.in + thread() * 10;
  const uint32_t a[4] = {load(in), load(in + 1), load(in + 2), load(in + 3)}, b[2] = {load(in + 4), load(in + 5)};
  if constexpr (kSame<T, int8_t>) {
    int32_t d[4];
    for (int i = 0; i < 4; i++) d[i] = static_cast<int32_t>(load(in + 6 + i));
    mma_s8(d, a, b);
    for (int i = 0; i < 4; i++) store(args.out + thread() * 4 + i, static_cast<uint32_t>(d[i]));
  } else {
    float d[4];
    for (int i = 0; i < 4; i++) d[i] = as_float(load(in + 6 + i));
    mma<T>(d, a, b);
    for (int i = 0; i < 4; i++) store(args.out + thread() * 4 + i, as_bits(d[i]));
  }
}
KERNEL(twin_mma_f16, 32, 1, TwinArgs) { multiply<f16>(args); }
KERNEL(twin_mma_bf16, 32, 1, TwinArgs) { multiply<bf16>(args); }
KERNEL(twin_mma_s8, 32, 1, TwinArgs) { multiply<int8_t>(args); }

// in: a[2][4], b[3][2], d[2][3][4].
KERNEL(twin_mma_tile, 32, 1, TwinArgs) {
  const uint32_t* in = args.in + thread() * 38;
  uint32_t a[2][4], b[3][2];
  float d[2][3][4];
  for (int m = 0; m < 2; m++) {
    for (int i = 0; i < 4; i++) a[m][i] = load(in++);
  }
  for (int n = 0; n < 3; n++) {
    for (int i = 0; i < 2; i++) b[n][i] = load(in++);
  }
  for (int m = 0; m < 2; m++) {
    for (int n = 0; n < 3; n++) {
      for (int i = 0; i < 4; i++) d[m][n][i] = as_float(load(in++));
    }
  }
  mma_tile<f16, 2, 3>(d, a, b);
  uint32_t* out = args.out + thread() * 24;
  for (int m = 0; m < 2; m++) {
    for (int n = 0; n < 3; n++) {
      for (int i = 0; i < 4; i++) store(out++, as_bits(d[m][n][i]));
    }
  }
}

// Three groups of one copy of each lane, a fourth of zeros; what is seen after each wait. memory: [3][32][16 bytes].
KERNEL(twin_cp_async, 32, 1, TwinArgs) {
  auto* shared = reinterpret_cast<u32x4*>(shared_memory());
  const auto* from = static_cast<const u32x4*>(args.memory);
  for (int i = 0; i < 3; i++) {
    cp_async_16(shared + 32 * i + thread(), from + 32 * i + thread());
    cp_async_commit();
  }
  cp_async_16_zfill(shared + 96 + thread(), from + thread(), thread() % 2 == 0);
  cp_async_commit();
  uint32_t* out = args.out + thread() * 4;
  cp_async_wait<3>();
  store(out, load_shared(shared + thread()).v[1]);
  cp_async_wait<1>();
  store(out + 1, load_shared(shared + 32 + thread()).v[2]);
  store(out + 2, load_shared(shared + 64 + thread()).v[3]);
  cp_async_wait<0>();
  store(out + 3, load_shared(shared + 96 + thread()).v[0]);
}

// in: a value and a lane.
KERNEL(twin_shuffles, 32, 1, TwinArgs) {
  const uint32_t value = load(args.in + thread() * 2);
  const int other = static_cast<int>(load(args.in + thread() * 2 + 1));
  uint32_t* out = args.out + thread() * 9;
  store(out, shuffle(value, other));
  store(out + 1, shuffle_xor(value, 5));
  store(out + 2, shuffle_down(value, 3));
  store(out + 3, shuffle_up(value, 3));
  store(out + 4, ballot(value % 3 == 0));
  store(out + 5, uint32_t{any(value == 7)} | uint32_t{any(value > 1000)} << 1);
  store(out + 6, uint32_t{all(value < 1000)} | uint32_t{all(value > 7)} << 1);
  store(out + 7, as_bits(warp_sum(static_cast<float>(value))));
  store(out + 8, as_bits(warp_max(static_cast<float>(value))));
}

// in: a float, two more, four bytes twice.
KERNEL(twin_values, 32, 1, TwinArgs) {
  const uint32_t* in = args.in + thread() * 5;
  const float x = as_float(load(in)), low = as_float(load(in + 1)), high = as_float(load(in + 2));
  const uint32_t a = load(in + 3), b = load(in + 4);
  uint32_t* out = args.out + thread() * 10;
  const uint32_t f16s = pack<f16>(low, high), bf16s = pack<bf16>(low, high);
  float back[4];
  unpack<f16>(f16s, back[0], back[1]);
  unpack<bf16>(bf16s, back[2], back[3]);
  store(out, f16s);
  store(out + 1, bf16s);
  for (int i = 0; i < 4; i++) store(out + 2 + i, as_bits(back[i]));
  store(out + 6, as_bits(exp2_approx(x)));
  store(out + 7, as_bits(rsqrt_approx(fabsf(x))));
  store(out + 8, as_bits(reciprocal_approx(x)));
  store(out + 9, static_cast<uint32_t>(dot4_s8(a, b, pack_s8(1, -2, 3, -4) == 0xfc03fe01u)));
}

// in: two values of two bytes, four bytes.
KERNEL(twin_registers, 32, 1, TwinArgs) {
  const uint32_t value = load(args.in + thread() * 2), bytes = load(args.in + thread() * 2 + 1);
  uint32_t* out = args.out + thread() * 5;
  store(out, transpose_8x8(value));
  store(out + 1, reduce_max(value));
  store(out + 2, reduce_min(value));
  uint32_t low, high;
  s8_to_f16(bytes, low, high);
  store(out + 3, low);
  store(out + 4, high);
}

// memory: 32 x 16 bytes.
KERNEL(twin_loads, 32, 1, TwinArgs) {
  const auto* words = static_cast<const uint32_t*>(args.memory) + thread() * 4;
  const u32x4 streamed = load_streamed(reinterpret_cast<const u32x4*>(words));
  const u32x2 kept = load_kept(reinterpret_cast<const u32x2*>(words));
  const u32x4 readonly = load_readonly(reinterpret_cast<const u32x4*>(words));
  prefetch_l2(words);
  uint32_t* out = args.out + thread() * 8;
  for (int i = 0; i < 4; i++) store(out + i, streamed.v[i] + readonly.v[3 - i]);
  for (int i = 0; i < 2; i++) store(out + 4 + i, kept.v[i]);
  store(out + 6, uint32_t{load_readonly(reinterpret_cast<const uint16_t*>(words) + 1)});
  store(out + 7, load_streamed(words + 2) + load_readonly(reinterpret_cast<const uint8_t*>(words) + 3));
}

// Every block leaves its part, and the one that comes last adds them up.
KERNEL(twin_last_block, 64, 1, LastArgs) {
  auto* last = reinterpret_cast<uint32_t*>(shared_memory());
  if (thread() == 0) store(args.part + block_x(), static_cast<float>(block_x() + 1));
  atomic_max_relaxed(args.most, block_x() * 100 + thread());
  sync_threads();
  if (thread() == 0) store_shared(last, atomic_add_acq_rel(args.arrived, 1));
  sync_threads();
  if (load_shared(last) + 1 != static_cast<uint32_t>(grid_x())) return;
  if (thread() == 0) {
    float sum = 0;
    for (int i = 0; i < grid_x(); i++) sum += load_volatile(args.part + i);
    store(args.out, sum);
    atomic_add_relaxed(args.out_n, 1);
  }
}

// Blocks pass a number on: each waits for the one before it.
KERNEL(twin_chain, 32, 1, LastArgs) {
  if (thread() != 0) return;
  while (load_acquire(args.arrived) != static_cast<uint32_t>(block_x())) {
  }
  const float before = block_x() == 0 ? 1.0f : load(args.part + block_x() - 1);
  store(args.part + block_x(), before * 2);
  store_release(args.arrived, static_cast<uint32_t>(block_x() + 1));
}

// Two warps hand values over through named barriers: warp 0 fills, warp 1 takes.
KERNEL(twin_named_barriers, 64, 1, TwinArgs) {
  auto* box = reinterpret_cast<uint32_t*>(shared_memory());
  for (int round = 0; round < 3; round++) {
    if (warp() == 0) {
      store_shared(box + lane(), load(args.in + lane()) + round);
      barrier_arrive(1, 64);
      barrier_sync(2, 64);
    } else {
      barrier_sync(1, 64);
      store(args.out + round * 32 + lane(), load_shared(box + 31 - lane()));
      barrier_arrive(2, 64);
    }
  }
}

// What each of these does wrong is told by its name.
KERNEL(wrong_divergent_barrier, 64, 1, TwinArgs) {
  if (warp() == 0) {
    sync_threads();
  } else {
    sync_threads();
  }
}
KERNEL(wrong_missing_lane, 32, 1, TwinArgs) {
  if (lane() < 31) sync_warp();
}
KERNEL(wrong_shared_end, 32, 1, TwinArgs) {
  store_shared(reinterpret_cast<uint32_t*>(shared_memory()) + lane() + 1, 1u);
}
KERNEL(wrong_no_wait, 32, 1, TwinArgs) {
  cp_async_16(shared_memory() + 16 * lane(), static_cast<const std::byte*>(args.memory) + 16 * lane());
  cp_async_commit();
}
KERNEL(wrong_alignment, 32, 1, TwinArgs) {
  store(args.out + lane(), load(reinterpret_cast<const uint32_t*>(static_cast<const std::byte*>(args.memory) + 2)));
}
KERNEL(wrong_endless_wait, 32, 1, LastArgs) {
  while (load_acquire(args.arrived) == 0) {
  }
}

}  // namespace sotto::test
