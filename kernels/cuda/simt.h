// What the host twins in ptx.cuh ask of the executor that runs kernels without a GPU (tests/simt): a thread of a kernel
// is a fiber, and these are the places where it meets others. Declarations alone: no program but the tests has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace sotto::simt {

using Place = std::source_location;

struct Index {
  uint32_t x, y, z;
};

// Where the running thread stands.
struct Position {
  uint32_t thread, threads;
  Index block, grid;
  std::byte* shared;
  uint32_t shared_bytes;
};
Position position();

// Barriers. Barrier 0 is that of the whole block and takes as many threads as are left in it (n_threads is 0 then); one
// at which threads of a block arrive from different places is divergent, and a failure. `waits` is false for an arrival
// without waiting.
void barrier(int id, int n_threads, bool waits, Place place);
void sync_warp(Place place);

// Warp operations: all 32 lanes must come to the same place. None of them orders memory.
uint32_t shuffle(uint32_t bits, int from_lane, Place place);
uint32_t ballot(bool vote, Place place);
uint32_t reduce(uint32_t value, bool largest, Place place);
uint32_t transpose(uint32_t two, Place place);
// n: 2 or 4 matrices of 8 x 8 values of two bytes; `row` counts for the first 8 n lanes. out: [n].
void ldmatrix(uint32_t* out, const void* row, int n, bool transposed, Place place);

enum class Operand { f16, bf16, s8 };
// m x n products of one step in k: 16 x 8 results each, of 16 (s8: 32) values. Fragments as in the PTX ISA, of this lane:
// d [m][n][4], a [m][4], b [n][2]. d: float, for s8 int32_t.
void mma(void* d, const uint32_t* a, const uint32_t* b, int m, int n, Operand operand, Place place);

// Copies of 16 bytes from global to shared memory that land between here and the wait for their group; `valid` is
// false for zeros.
void copy_async(void* shared, const void* global, bool valid, Place place);
void commit_copies();
void wait_copies(int newest_in_flight, Place place);

enum class Space { global, shared };
// Checks an access (alignment, shared memory's bounds) and, when counting is on, counts it.
void access(Space space, const void* at, uint32_t bytes, bool writes, Place place);
// Lets the other fibers run: for a thread that waits for another block's store.
void yield();

// Kernels by name, for the driver's stand-in.
struct Kernel {
  const char* name;
  uint32_t max_threads;
  uint32_t argument_bytes;
  void (*run)(const void* arguments);
  const char* file;
};
struct Registration {
  explicit Registration(const Kernel& kernel);
};

}  // namespace sotto::simt
