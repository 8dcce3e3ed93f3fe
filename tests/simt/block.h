// The state of a block that is being run, and of the OS thread that runs it: shared by the executor's files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "simt/executor.h"
#include "simt/fiber.h"

namespace sotto::simt {

struct Block;
struct Warp;

struct Copy {
  void* to;
  const void* from;  // null: zeros
};

struct Thread {
  Fiber fiber;
  Position position;
  Block* block = nullptr;
  Warp* warp = nullptr;
  uint32_t lane_bit = 0;
  bool waits_at_barrier[16] = {};
  void* operand = nullptr;      // what it brought to its warp's operation
  std::vector<Copy> copies;     // in the order of issue
  std::vector<size_t> groups;   // copies when each group was committed
  size_t landed = 0, groups_landed = 0;
  bool stale = true;            // its stack is to be made anew
};

enum class Operation : uint8_t { sync, shuffle, ballot, reduce, transpose, ldmatrix, mma };

struct Warp {
  Thread* threads = nullptr;  // [32]
  uint32_t alive = 0;         // lanes that have not ended
  uint32_t ready = 0;         // lanes that can run
  uint32_t arrived = 0;       // lanes that wait for the others in an operation
  Operation operation = Operation::sync;
  Place place;
  uint64_t generation = 0;
  uint64_t ordered[2] = {};   // for ThreadSanitizer, by the generation's parity
};

struct Barrier {
  int arrived = 0, expected = 0;
  Place place;
  uint64_t generation = 0;
  uint64_t ordered[2] = {};
};

// Dynamic shared memory, with unreadable pages on both sides.
class SharedMemory {
 public:
  ~SharedMemory();
  void resize(size_t bytes);  // filled with 0xff
  std::byte* data() const { return data_; }

 private:
  std::byte* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
};

// Addresses by warp and place in the source, lane by lane: those of one warp instruction are at the same index.
struct AccessSite {
  Space space;
  bool writes;
  uint32_t bytes;
  std::vector<const void*> at[32];
};

struct Block {
  std::unique_ptr<Thread[]> threads;
  uint32_t capacity = 0, n_threads = 0, alive = 0;
  std::vector<Warp> warps;
  Barrier barriers[16];
  SharedMemory shared;
  uint64_t ordered = 0;  // for ThreadSanitizer: blocks that use these stacks one after the other
  std::unordered_map<uint64_t, AccessSite> sites;

  void prepare(uint32_t threads, uint32_t shared_bytes);
  void start(Index block, Index grid, uint32_t shared_bytes, void (*entry)());
};

struct Launch {
  const Kernel* kernel;
  Index grid;
  uint32_t threads, shared_bytes, resident_blocks;
  const void* arguments;
  Schedule schedule;
  bool counting;
  std::atomic<uint64_t> next_block{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::string failure;
  Counters counters;
  uint64_t begins = 0, ends = 0;  // for ThreadSanitizer

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }
};

// One OS thread's part of a launch.
class Worker {
 public:
  Worker() = default;
  ~Worker();
  void work(Launch& launch);  // blocks until there are none left
  [[noreturn]] void fail(const std::string& what);
  // Lets another fiber run. The running one's `ready` bit says whether it may be picked again.
  void switch_away();
  [[noreturn]] void thread_main();

  Thread* current = nullptr;
  Launch* launch = nullptr;
  Counters counters;
  uint64_t idle_yields = 0;  // since anything else than a yield happened

 private:
  void run_group(uint64_t first, uint64_t last);
  Thread* pick();
  bool pick_warp();
  uint32_t random();
  std::string stuck() const;
  void end_thread();

  Fiber main_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Warp*> warps_;  // of all blocks that run
  size_t warp_ = 0;           // of warps_, whose lanes have their turn
  uint32_t turn_ = 0;         // lanes whose turn is still to come
  int first_lane_ = 0;
  uint32_t random_ = 1;
};

Worker& worker();
inline Thread& running() { return *worker().current; }

// All 32 lanes of the running thread's warp bring an operand; the last to come runs `act` for all.
void meet(Operation operation, void* operand, Place place, void (*act)(Warp&));
void open_if_complete(Block& block, int id);

// Whether a barrier or wait is to do nothing: for the mutation tests (SIMT_SKIP=file.cu:123, or in some kernels alone:
// file.cu:123@one,another).
bool skipped(const Place& place);
std::string text_of(const Place& place);

// counters.cc
void count_access(Thread& thread, Space space, const void* at, uint32_t bytes, bool writes, const Place& place);
void count_ldmatrix(const void* const (&rows)[8]);
void fold_sites(Block& block, Counters& counters);

// multiply_*.cc: d [16 m][8 n] += a [16 m][16] b [16][8 n], row-major, f32.
using MultiplyF32 = void (*)(float* d, const float* a, const float* b, int m, int n);
void multiply_f32_portable(float* d, const float* a, const float* b, int m, int n);
void multiply_f32_avx2(float* d, const float* a, const float* b, int m, int n);
void multiply_f32_avx512(float* d, const float* a, const float* b, int m, int n);

}  // namespace sotto::simt
