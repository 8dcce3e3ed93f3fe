// `sotto bench --plan CHIP`: what a GPU that isn't at hand would need and could reach.
#pragma once

#include <string>

#include "kernels/network.h"

namespace sotto {

// Prints memory and the least time of each stage. Throws Error for a chip that isn't known, or too small.
void bench_plan(const std::string& chip, const Weights& weights, const NetworkOptions& options);

}  // namespace sotto
