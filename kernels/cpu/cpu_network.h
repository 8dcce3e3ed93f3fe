// The network on a CPU, hand-specialised: packed weights, fused products, one file of kernels for each instruction set.
#pragma once

#include <memory>

#include "kernels/network.h"

namespace sotto::cpu {

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

}  // namespace sotto::cpu
