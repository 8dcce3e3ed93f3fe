// The network on an NVIDIA GPU.
#pragma once

#include <memory>

#include "kernels/network.h"

namespace sotto::cuda {

// options.device: "cuda", "cuda:N", or "cuda-sim" where the tests provide it. Everything is allocated and one kernel is run
// before this returns; throws Error if any of it can't be.
std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

// What there is for a program with kernels (without: none). broken: a driver that doesn't start, so that most likely there
// is a GPU, and open() tells why it can't be used.
enum class Found { none, broken, usable };
Found find_gpu();
struct Driver;
Found find_gpu(const Driver& driver);
// Whether there is a stand-in for a GPU, in the tests' programs.
bool simulated();

}  // namespace sotto::cuda
