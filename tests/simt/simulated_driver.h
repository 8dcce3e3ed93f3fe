// The driver API's table, answered by the executor: what a stream is given happens at once, device memory is the host's
// with unreadable pages behind each allocation, and a graph is a list of what was captured.
#pragma once

#include <span>

#include "kernels/cuda/device.h"

namespace sotto::simt {

const cuda::Driver& the_simulated_driver();
std::span<const cuda::Image> simulated_images();  // one, for the chip that it pretends to be

// Memory that the device pretends to have free; what is allocated goes from it.
void set_simulated_memory(size_t bytes);
// The launch after which `n` more succeed fails; negative: none does.
void fail_launch_after(int n);

}  // namespace sotto::simt
