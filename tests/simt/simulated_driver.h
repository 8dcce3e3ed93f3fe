// The driver API's table, answered by the executor: what a stream is given happens at once, device memory is the host's
// with unreadable pages behind each allocation, and a graph is a list of what was captured.
#pragma once

#include <span>

#include "kernels/cuda/device.h"

namespace sotto::simt {

const cuda::Driver& the_simulated_driver();
std::span<const cuda::Image> simulated_images();  // one, for the chip that it pretends to be

// What goes wrong, for tests of how the host side bears it. The defaults: nothing.
struct Faults {
  cuda::Result init = 0;                   // what cuInit answers
  int devices = 1;
  int chip = 80;                           // images are for 80 all the same
  cuda::Result load = 0;                   // what loading kernels answers
  int driver_version = 13000;
  size_t memory = size_t{16} << 30;        // of the device, as it tells
  size_t memory_had = size_t{16} << 30;    // and as allocations find
  int launches_left = -1;                  // so many more succeed; negative: all
};
Faults& faults();
size_t simulated_memory_used();

}  // namespace sotto::simt
