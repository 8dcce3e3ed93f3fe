// What every function of ptx.cuh does, from the tables of the PTX ISA and not from the kernels that use it. The same tests
// run on a GPU, which is what makes the host twins trustworthy.
#include "cuda/twins.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "cuda/device.h"

namespace sotto::test {
namespace {

using Words = std::vector<uint32_t>;

Words run_twin(const char* kernel, const Words& in, int n_in, int n_out, const std::vector<uint32_t>& memory = {0},
               uint32_t shared_bytes = 4096, uint32_t threads = 32, int n_lanes = 32) {
  const DeviceArray<uint32_t> inputs(in), content(memory), out(size_t(n_lanes) * n_out);
  launch(kernel, {.threads = threads, .shared_bytes = shared_bytes},
         TwinArgs{inputs.data(), out.data(), content.data(), n_in, n_out});
  return out.host();
}

// Elements of 8 x 8 matrices, told apart by their values: matrix * 64 + row * 8 + column.
Words numbered_matrices() {
  Words memory(32 * 4);
  for (int i = 0; i < 32 * 8; i += 2) memory[i / 2] = i | (i + 1) << 16;
  return memory;
}

// PTX ISA, ldmatrix: "Figure: fragment layout for one 8x8 matrix with 16-bit elements".
uint32_t matrix_fragment(int matrix, int lane, bool transposed) {
  const int row = lane / 4, column = lane % 4 * 2;
  const auto at = [&](int r, int c) { return uint32_t(matrix * 64 + (transposed ? c * 8 + r : r * 8 + c)); };
  return at(row, column) | at(row, column + 1) << 16;
}

float value_of(uint16_t bits, bool is_f16) {
  return is_f16 ? cuda::to_float(cuda::f16{bits}) : cuda::to_float(cuda::bf16{bits});
}

// The three operands of an m16n8k16 product, and where the ISA's tables put their elements.
struct Product {
  float a[16][16], b[16][8], d[16][8];

  void fill(uint32_t seed) {
    std::mt19937 random(seed);
    const auto next = [&] { return float(int(random() % 65) - 32) / 16; };  // exact in f16 and bf16, and so are the sums
    for (auto& row : a) for (float& x : row) x = next();
    for (auto& row : b) for (float& x : row) x = next();
    for (auto& row : d) for (float& x : row) x = next();
  }
  // groupID = lane >> 2, threadID_in_group = lane % 4;
  // a_i: row = groupID for i = 0, 1, 4, 5, else groupID + 8; column = threadID_in_group * 2 + (i & 1), + 8 for i >= 4.
  float a_element(int lane, int i) const {
    const int row = lane / 4 + (i == 0 || i == 1 || i == 4 || i == 5 ? 0 : 8);
    return a[row][lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)];
  }
  // b_i: row = threadID_in_group * 2 + (i & 1), + 8 for i >= 2; column = groupID.
  float b_element(int lane, int i) const { return b[lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0)][lane / 4]; }
  // c_i: row = groupID, + 8 for i >= 2; column = threadID_in_group * 2 + (i & 1).
  float& d_element(int lane, int i) { return d[lane / 4 + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)]; }

  float result(int lane, int i) const {
    const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1);
    float sum = d[row][column];
    for (int k = 0; k < 16; k++) sum += a[row][k] * b[k][column];
    return sum;
  }
};

template <class T>
void add_fragments(const Product& p, int lane, bool of_a, Words& words) {
  for (int i = 0; i < (of_a ? 8 : 4); i += 2) {
    words.push_back(of_a ? cuda::pack<T>(p.a_element(lane, i), p.a_element(lane, i + 1))
                         : cuda::pack<T>(p.b_element(lane, i), p.b_element(lane, i + 1)));
  }
}

template <class T>
void check_mma(const char* kernel) {
  Product p;
  p.fill(1);
  Words in;
  for (int lane = 0; lane < 32; lane++) {
    add_fragments<T>(p, lane, true, in);
    add_fragments<T>(p, lane, false, in);
    for (int i = 0; i < 4; i++) in.push_back(cuda::as_bits(p.d_element(lane, i)));
  }
  const Words out = run_twin(kernel, in, 10, 4);
  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < 4; i++) CHECK(cuda::as_float(out[lane * 4 + i]) == p.result(lane, i));
  }
}

}  // namespace

TEST_CASE("twins: ldmatrix gives each lane its two elements of each matrix") {
  for_each_schedule([] {
    // Rows are given in a shuffled order of matrices: matrix m of the instruction is matrix 3 - m of memory.
    Words rows;
    for (int lane = 0; lane < 32; lane++) rows.push_back((3 - lane / 8) * 8 + lane % 8);
    const auto check = [&](const char* kernel, int n, bool transposed) {
      const Words out = run_twin(kernel, rows, 1, n, numbered_matrices(), 512);
      for (int lane = 0; lane < 32; lane++) {
        for (int m = 0; m < n; m++) CHECK(out[lane * n + m] == matrix_fragment(3 - m, lane, transposed));
      }
    };
    check("twin_ldmatrix_x4", 4, false);
    check("twin_ldmatrix_x4_trans", 4, true);
    check("twin_ldmatrix_x2", 2, false);
    check("twin_ldmatrix_x2_trans", 2, true);
  });
}

TEST_CASE("twins: mma multiplies what the fragments of f16 and bf16 hold") {
  for_each_schedule([] {
    check_mma<cuda::f16>("twin_mma_f16");
    check_mma<cuda::bf16>("twin_mma_bf16");
  });
}

TEST_CASE("twins: mma_tile is all products of its tiles") {
  for_each_schedule([] {
    Product p[2][3];
    for (int m = 0; m < 2; m++) {
      for (int n = 0; n < 3; n++) p[m][n].fill(m * 3 + n);
    }
    for (int m = 0; m < 2; m++) {  // a is shared along n, b along m
      for (int n = 0; n < 3; n++) {
        std::copy(&p[m][0].a[0][0], &p[m][0].a[0][0] + 256, &p[m][n].a[0][0]);
        std::copy(&p[0][n].b[0][0], &p[0][n].b[0][0] + 128, &p[m][n].b[0][0]);
      }
    }
    Words in;
    for (int lane = 0; lane < 32; lane++) {
      for (int m = 0; m < 2; m++) add_fragments<cuda::f16>(p[m][0], lane, true, in);
      for (int n = 0; n < 3; n++) add_fragments<cuda::f16>(p[0][n], lane, false, in);
      for (int m = 0; m < 2; m++) {
        for (int n = 0; n < 3; n++) {
          for (int i = 0; i < 4; i++) in.push_back(cuda::as_bits(p[m][n].d_element(lane, i)));
        }
      }
    }
    const Words out = run_twin("twin_mma_tile", in, 38, 24);
    for (int lane = 0; lane < 32; lane++) {
      for (int m = 0; m < 2; m++) {
        for (int n = 0; n < 3; n++) {
          for (int i = 0; i < 4; i++) {
            CHECK(cuda::as_float(out[lane * 24 + (m * 3 + n) * 4 + i]) == p[m][n].result(lane, i));
          }
        }
      }
    }
  });
}

// PTX ISA, "Matrix fragments for mma.m16n8k32", integer type: a_i row = groupID for i < 4 and 8 <= i < 12, else
// groupID + 8; column = threadID_in_group * 4 + (i & 3), + 16 for i >= 8. b_i row = threadID_in_group * 4 + (i & 3),
// + 16 for i >= 4; column = groupID. c_i as for m16n8k16.
TEST_CASE("twins: mma of bytes is exact") {
  for_each_schedule([] {
    std::mt19937 random(3);
    int8_t a[16][32], b[32][8];
    int32_t d[16][8];
    for (auto& row : a) for (int8_t& x : row) x = int8_t(random());
    for (auto& row : b) for (int8_t& x : row) x = int8_t(random());
    for (auto& row : d) for (int32_t& x : row) x = int32_t(random() % 2001) - 1000;
    a[0][0] = b[0][0] = -128;
    Words in;
    for (int lane = 0; lane < 32; lane++) {
      const int group = lane / 4, four = lane % 4 * 4;
      for (int i = 0; i < 16; i += 4) {
        const int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8, column = four + (i >= 8 ? 16 : 0);
        in.push_back(cuda::pack_s8(a[row][column], a[row][column + 1], a[row][column + 2], a[row][column + 3]));
      }
      for (int i = 0; i < 8; i += 4) {
        const int row = four + (i >= 4 ? 16 : 0);
        in.push_back(cuda::pack_s8(b[row][group], b[row + 1][group], b[row + 2][group], b[row + 3][group]));
      }
      for (int i = 0; i < 4; i++) in.push_back(uint32_t(d[group + i / 2 * 8][lane % 4 * 2 + i % 2]));
    }
    const Words out = run_twin("twin_mma_s8", in, 10, 4);
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 4; i++) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        int32_t sum = d[row][column];
        for (int k = 0; k < 32; k++) sum += a[row][k] * b[k][column];
        CHECK(int32_t(out[lane * 4 + i]) == sum);
      }
    }
  });
}

TEST_CASE("twins: copies have landed after the wait for their group, and zero-fill where not valid") {
  for_each_schedule([] {
    Words memory(3 * 32 * 4);
    for (size_t i = 0; i < memory.size(); i++) memory[i] = 1000 + i;
    const Words out = run_twin("twin_cp_async", {0}, 0, 4, memory, 4 * 32 * 16);
    for (uint32_t lane = 0; lane < 32; lane++) {
      CHECK(out[lane * 4] == 1000 + lane * 4 + 1);
      CHECK(out[lane * 4 + 1] == 1000 + 128 + lane * 4 + 2);
      CHECK(out[lane * 4 + 2] == 1000 + 256 + lane * 4 + 3);
      CHECK(out[lane * 4 + 3] == (lane % 2 == 0 ? 1000 + lane * 4 : 0));
    }
  });
}

TEST_CASE("twins: shuffles, votes and reductions of a warp") {
  for_each_schedule([] {
    std::mt19937 random(4);
    uint32_t value[32], other[32];
    Words in;
    for (int lane = 0; lane < 32; lane++) {
      value[lane] = random() % 900;
      other[lane] = random() % 32;
    }
    value[11] = 7;
    for (int lane = 0; lane < 32; lane++) in.insert(in.end(), {value[lane], other[lane]});
    const Words out = run_twin("twin_shuffles", in, 2, 9);
    uint32_t votes = 0, sum = 0, most = 0;
    bool above = true;
    for (int lane = 0; lane < 32; lane++) {
      votes |= uint32_t{value[lane] % 3 == 0} << lane;
      sum += value[lane];
      most = std::max(most, value[lane]);
      above = above && value[lane] > 7;
    }
    for (int lane = 0; lane < 32; lane++) {
      const uint32_t* got = &out[lane * 9];
      CHECK(got[0] == value[other[lane]]);
      CHECK(got[1] == value[lane ^ 5]);
      CHECK(got[2] == value[lane + 3 < 32 ? lane + 3 : lane]);
      CHECK(got[3] == value[lane - 3 >= 0 ? lane - 3 : lane]);
      CHECK(got[4] == votes);
      CHECK(got[5] == 1u);
      CHECK(got[6] == (1u | uint32_t{above} << 1));
      CHECK(cuda::as_float(got[7]) == float(sum));
      CHECK(cuda::as_float(got[8]) == float(most));
    }
  });
}

TEST_CASE("twins: values are narrowed to the nearest, ties to even") {
  struct Narrowed {
    float from;
    uint16_t f16, bf16;
  };
  const Narrowed cases[] = {
      {1.0f, 0x3c00, 0x3f80},
      {-2.5f, 0xc100, 0xc020},
      {0.0f, 0, 0},
      {-0.0f, 0x8000, 0x8000},
      {65504.0f, 0x7bff, 0x4780},
      {65519.996f, 0x7bff, 0x4780},
      {65520.0f, 0x7c00, 0x4780},
      {0x1p-24f, 0x0001, 0x3380},        // the smallest f16
      {0x1p-25f, 0x0000, 0x3300},        // half of it: to even
      {0x1.8p-24f, 0x0002, 0x33c0},      // one and a half: to even
      {0x1.002p0f, 0x3c00, 0x3f80},      // a tie in f16: down to even
      {0x1.006p0f, 0x3c02, 0x3f80},      // a tie: up to even
      {0x1.01p0f, 0x3c04, 0x3f80},       // a tie in bf16: down to even
      {0x1.03p0f, 0x3c0c, 0x3f82},       // a tie in bf16: up to even
      {0x1.ff8p-15f, 0x03ff, 0x3880},    // the largest subnormal f16
      {0x1.ffcp-15f, 0x0400, 0x3880},    // half a step more: to even, the smallest normal one
      {INFINITY, 0x7c00, 0x7f80},
  };
  for_each_schedule([&] {
    Words in;
    for (int lane = 0; lane < 32; lane++) {
      const Narrowed& c = cases[lane % std::size(cases)];
      in.insert(in.end(), {cuda::as_bits(float(lane) / 4 + 0.25f), cuda::as_bits(c.from), cuda::as_bits(-c.from),
                           cuda::pack_s8(lane, -lane, 127, -128), cuda::pack_s8(3, lane, -128, 127)});
    }
    const Words out = run_twin("twin_values", in, 5, 10);
    for (int lane = 0; lane < 32; lane++) {
      const Narrowed& c = cases[lane % std::size(cases)];
      CAPTURE(c.from);
      const uint32_t* got = &out[lane * 10];
      CHECK(got[0] == (c.f16 | uint32_t(c.f16 ^ 0x8000) << 16));
      CHECK(got[1] == (c.bf16 | uint32_t(c.bf16 ^ 0x8000) << 16));
      CHECK(cuda::as_float(got[2]) == value_of(c.f16, true));
      CHECK(cuda::as_float(got[3]) == -value_of(c.f16, true));
      CHECK(cuda::as_float(got[4]) == value_of(c.bf16, false));
      CHECK(cuda::as_float(got[5]) == -value_of(c.bf16, false));
      const double x = lane / 4.0 + 0.25;  // the approximations are good to about 2^-22
      CHECK(cuda::as_float(got[6]) == doctest::Approx(std::exp2(x)).epsilon(1e-6));
      CHECK(cuda::as_float(got[7]) == doctest::Approx(1 / std::sqrt(x)).epsilon(1e-6));
      CHECK(cuda::as_float(got[8]) == doctest::Approx(1 / x).epsilon(1e-6));
      CHECK(int(got[9]) == lane * 3 - lane * lane + 127 * -128 + -128 * 127 + 1);
    }
  });
}

TEST_CASE("twins: transposed registers, extremes of a warp, bytes as f16") {
  for_each_schedule([] {
    Words in;
    for (uint32_t lane = 0; lane < 32; lane++) {
      in.push_back((lane / 4 * 8 + lane % 4 * 2) | (lane / 4 * 8 + lane % 4 * 2 + 1) << 16);
      in.push_back(lane * 8 | (lane * 8 + 1) << 8 | (lane * 8 + 2) << 16 | (255 - lane) << 24);
    }
    const Words out = run_twin("twin_registers", in, 2, 5);
    for (int lane = 0; lane < 32; lane++) {
      const uint32_t* got = &out[lane * 5];
      CHECK(got[0] == matrix_fragment(0, lane, true));
      CHECK(got[1] == (62u | 63u << 16));
      CHECK(got[2] == (0u | 1u << 16));
      CHECK(got[3] == cuda::pack<cuda::f16>(float(lane * 8 - 128), float(lane * 8 + 1 - 128)));
      CHECK(got[4] == cuda::pack<cuda::f16>(float(lane * 8 + 2 - 128), float(255 - lane - 128)));
    }
  });
}

TEST_CASE("twins: loads of all widths and hints") {
  for_each_schedule([] {
    Words memory(32 * 4);
    for (size_t i = 0; i < memory.size(); i++) memory[i] = i * 0x01010101u + 0x80000000u;
    const Words out = run_twin("twin_loads", {0}, 0, 8, memory);
    for (int lane = 0; lane < 32; lane++) {
      const uint32_t* w = &memory[lane * 4];
      for (int i = 0; i < 4; i++) CHECK(out[lane * 8 + i] == w[i] + w[3 - i]);
      for (int i = 0; i < 2; i++) CHECK(out[lane * 8 + 4 + i] == w[i]);
      CHECK(out[lane * 8 + 6] == w[0] >> 16);
      CHECK(out[lane * 8 + 7] == w[2] + (w[0] >> 24));
    }
  });
}

TEST_CASE("twins: the last block to come sees what all have left") {
  for_each_schedule([] {
    const DeviceArray<uint32_t> arrived(1), out_n(1);
    const DeviceArray<float> part(37), out(1);
    const DeviceArray<int32_t> most(1);
    arrived.fill(0);
    out_n.fill(0);
    most.fill(0);
    launch("twin_last_block", {.grid_x = 37, .threads = 64, .shared_bytes = 4},
           LastArgs{arrived.data(), part.data(), out.data(), out_n.data(), most.data()});
    CHECK(out.host()[0] == 37 * 38 / 2);
    CHECK(out_n.host()[0] == 1);
    CHECK(most.host()[0] == 3663);
  });
}

TEST_CASE("twins: blocks that wait for one another all run") {
  for_each_schedule([] {
    const DeviceArray<uint32_t> arrived(1), out_n(1);
    const DeviceArray<float> part(9), out(1);
    const DeviceArray<int32_t> most(1);
    arrived.fill(0);
    launch("twin_chain", {.grid_x = 9, .threads = 32, .resident_blocks = 9},
           LastArgs{arrived.data(), part.data(), out.data(), out_n.data(), most.data()});
    CHECK(part.host()[8] == 512.0f);
  });
}

TEST_CASE("twins: named barriers hand values from warp to warp") {
  for_each_schedule([] {
    Words in;
    for (uint32_t lane = 0; lane < 32; lane++) in.push_back(lane * lane);
    const Words out = run_twin("twin_named_barriers", in, 1, 1, {0}, 128, 64, 96);
    for (int i = 0; i < 96; i++) CHECK(out[i] == in[31 - i % 32] + i / 32);
  });
}

// ---- The executor itself -------------------------------------------------------------------------------------------

namespace {

std::string failure_of(const char* kernel, uint32_t threads, uint32_t shared_bytes) {
  try {
    run_twin(kernel, Words(32 * 4), 1, 4, Words(32 * 4 + 1), shared_bytes, threads);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("executor: what a kernel does wrong is told with its name and place") {
  if (on_hardware()) return;
  for_each_schedule([] {
    const auto fails = [](const char* kernel, uint32_t threads, uint32_t shared_bytes, const char* with) {
      const std::string text = failure_of(kernel, threads, shared_bytes);
      CAPTURE(text);
      CHECK(text.find(kernel) != std::string::npos);
      CHECK(text.find(with) != std::string::npos);
    };
    fails("wrong_divergent_barrier", 64, 0, "divergent barrier: some threads of the block are at twins.cu:");
    fails("wrong_missing_lane", 32, 0, "ended");
    fails("wrong_shared_end", 32, 128, "outside the 128 bytes of shared memory: byte 128, at twins.cu:");
    fails("wrong_alignment", 32, 0, "isn't a multiple of 4, at twins.cu:");
    fails("twin_ldmatrix_x4", 64, 512, "its launch bounds are 32");
    if (!simt::all_kernels().empty()) fails("no_such_kernel", 32, 0, "no kernel no_such_kernel");
  });
  simt::set_schedule({.copies_land_early = false});
  CHECK(failure_of("wrong_no_wait", 32, 512).find("ended while its copies were in flight") != std::string::npos);
}

#ifndef __SANITIZE_THREAD__  // there it would take minutes
TEST_CASE("executor: a wait for a store that never comes is given up") {
  if (on_hardware()) return;
  const DeviceArray<uint32_t> arrived(1);
  arrived.fill(0);
  CHECK_THROWS_WITH(launch("wrong_endless_wait", {.threads = 32}, LastArgs{arrived.data(), nullptr, nullptr, nullptr, nullptr}),
                    doctest::Contains("threads wait for a store that never comes"));
}
#endif

TEST_CASE("executor: a kernel goes on working after another failed") {
  if (on_hardware()) return;
  CHECK(!failure_of("wrong_divergent_barrier", 64, 0).empty());
  check_mma<cuda::f16>("twin_mma_f16");
}

TEST_CASE("executor: traffic is counted as warps cause it") {
  if (on_hardware()) return;
  const simt::Counters c = count([] { run_twin("twin_ldmatrix_x4", Words(32), 1, 4, numbered_matrices(), 512); });
  CHECK(c.global_read == 32 * 16 + 32 * 4);
  CHECK(c.sectors_read == 16 + 4);
  CHECK(c.sectors_read_ideal == 16 + 4);
  CHECK(c.global_written == 32 * 16);
  CHECK(c.sectors_written == 4 * 16);  // four stores of 32 words that stand 16 bytes apart
  CHECK(c.sectors_written_ideal == 4 * 4);
  CHECK(c.shared_wavefronts_ideal == 4 + 4);
  // All lanes ask for the same row here, which is one wavefront a matrix.
  CHECK(c.shared_wavefronts == 4 + 4);
  Words strided(32);
  for (int lane = 0; lane < 32; lane++) strided[lane] = lane % 4 * 8;  // rows 128 bytes apart: the same banks
  const simt::Counters s = count([&] { run_twin("twin_ldmatrix_x4", strided, 1, 4, numbered_matrices(), 512); });
  CHECK(s.shared_wavefronts == 4 + 4 * 4);
  CHECK(count([] { check_mma<cuda::f16>("twin_mma_f16"); }).mma_operations == 2 * 16 * 8 * 16);
}

}  // namespace sotto::test
