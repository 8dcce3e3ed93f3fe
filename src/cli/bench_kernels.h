// sotto bench --kernels: each kernel alone on one thread, its rate and its error.
#pragma once

#include "kernels/cpu/kernels.h"

namespace sotto {

void bench_kernels(const cpu::Kernels& kernels, int rounds, bool as_json);

}  // namespace sotto
