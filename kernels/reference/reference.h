// The plain network: f32 throughout, one loop after the other as the paper has them. It is what every other engine is
// held against, and runs wherever none of them does.
#pragma once

#include <memory>

#include "kernels/network.h"

namespace sotto::reference {

std::unique_ptr<Network> open(std::shared_ptr<const Weights> weights, const NetworkOptions& options);

}  // namespace sotto::reference
