// Which instruction sets this machine runs, and the one that the engine uses: chosen once, when a network is opened.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/kernels.h"

namespace sotto::cpu {

// Kernels that can run here, best first. The last one is always "portable".
std::vector<const Kernels*> available_kernels();

// name: "" or "auto" for the best, or one of the names. Throws Error when it isn't known or can't run here.
const Kernels& choose_kernels(const std::string& name);

}  // namespace sotto::cpu
