// How a kernel is started: what the host must know of it beside its arguments.
#pragma once

#include <cstdint>

namespace sotto::cuda {

// Blocks are one-dimensional. shared_bytes is dynamic shared memory, to the byte.
struct LaunchShape {
  uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
  uint32_t threads = 128;
  uint32_t shared_bytes = 0;
  uint32_t resident_blocks = 1;  // blocks that wait for one another; 1: none does

  bool operator==(const LaunchShape&) const = default;
};

constexpr int kMaxSharedBytes = 99 * 1024;  // that a block can have on every chip from sm_80 on

constexpr int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
constexpr int64_t round_up(int64_t n, int64_t to) { return ceil_div(n, to) * to; }

}  // namespace sotto::cuda
