// Runs kernels on the host, a fiber for each thread, so that what they do is seen without a GPU: barriers, warp
// operations and copies in flight behave as on the device, in the order that a schedule picks. It proves correctness,
// races, layouts and traffic, and nothing about speed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/cuda/simt.h"

namespace sotto::simt {

enum class Order { round_robin, run_ahead, shuffled };

// What the device leaves open: when copies land, and which warp goes on.
struct Schedule {
  bool copies_land_early = false;  // when issued; else in the wait for them, and what they go to is poisoned till then
  Order order = Order::round_robin;
  uint32_t seed = 1;  // of shuffled
};
std::string name_of(const Schedule& schedule);
// Those that a kernel must be right under: {late, early} x {round robin, one warp runs ahead, shuffled}.
const std::vector<Schedule>& all_schedules();
void set_schedule(const Schedule& schedule);  // from the next launch on

// Of one kernel, over all launches while counting. Sectors are 32 bytes that one warp operation moves, wavefronts the
// passes that one takes over shared memory's banks; `ideal` is the least that its bytes could need.
struct Counters {
  int64_t launches = 0;
  int64_t global_read = 0, global_written = 0;  // bytes asked for
  int64_t sectors_read = 0, sectors_read_ideal = 0, sectors_written = 0, sectors_written_ideal = 0;
  int64_t shared_wavefronts = 0, shared_wavefronts_ideal = 0;
  int64_t mma_operations = 0;  // a multiplication and an addition count two

  Counters& operator+=(const Counters& other);
};
void set_counting(bool counting);  // slow; clears what was counted when switched on
std::map<std::string, Counters> counted();  // by kernel

const Kernel* find_kernel(const std::string& name);
std::vector<const Kernel*> all_kernels();

// Runs a grid to its end. Returns what went wrong, in a sentence that names the kernel; empty: nothing.
std::string run(const Kernel& kernel, Index grid, uint32_t threads, uint32_t shared_bytes, uint32_t resident_blocks,
                const void* arguments);

}  // namespace sotto::simt
