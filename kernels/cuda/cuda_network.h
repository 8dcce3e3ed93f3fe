// The network on an NVIDIA GPU.
#pragma once

#include <memory>

#include "kernels/network.h"

namespace sotto::cuda {

// options.device: "cuda", "cuda:N", or "cuda-sim" where the tests provide it. Everything is allocated and one kernel is run
// before this returns; throws Error if any of it can't be.
std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

// Whether this machine has a GPU and this program kernels at all.
bool available();
// Whether there is a stand-in for a GPU, in the tests' programs.
bool simulated();

}  // namespace sotto::cuda
