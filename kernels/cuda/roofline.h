// What a GPU that isn't at hand could do at best: the operations and bytes of each stage, as the executor counts them, over
// what the chip's data sheet says. Predicted, until measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/small_product.h"
#include "models/dims.h"

namespace sotto::cuda {

struct Chip {
  const char* name;    // as users write it
  const char* title;
  int sms;
  double half_ops;     // a second, dense, f16 with f32 sums; a multiplication and an addition are two
  double read;         // bytes a second
  int64_t memory;      // bytes
};

// The chip of a name, or null. known_chips: "a100|4090|h200", for messages.
const Chip* find_chip(const std::string& name);
std::string known_chips();
const Chip* chip_of(const std::string& device);  // the one that a driver's name for a device has in it, or null

struct StageWork {
  const char* name;
  double ops, bytes;
  int launches;
};

// Of all windows together.
std::vector<StageWork> encode_work(const Dims& dims, int windows);
// One token for `rows` rows of each window, with `past` positions behind them.
std::vector<StageWork> step_work(const Dims& dims, WeightType type, int windows, int rows, int past);

// Seconds: its multiplications or its bytes, whichever take longer.
double least_seconds(const StageWork& work, const Chip& chip);

// Between two kernels of one graph, in which nothing runs. Source: "No bubbles" (Hazy Research, 2025), H100.
constexpr double kGapSeconds = 1.3e-6;

}  // namespace sotto::cuda
