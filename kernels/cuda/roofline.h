// What a GPU that isn't at hand could do at best: the operations and bytes of each stage over what the chip's data sheet
// says. The figures are those that the executor counts while the kernels run (tests/cuda/roofline_test.cc holds them
// together): operations include rows and columns that tiles pad, bytes those that blocks read again. Predicted, until
// measured.
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
  double byte_ops;     // int8
  double read;         // bytes a second, of its memory
  double cache;        // … of the second cache, as far as that is known: a data sheet doesn't say
  double link;         // … from the host's memory
  int64_t memory;      // bytes
};

// The chip of a name, or null. known_chips: "a100|4090|h200", for messages.
const Chip* find_chip(const std::string& name);
std::string known_chips();
const Chip* chip_of(const std::string& device);  // the one that a driver's name for a device has in it, or null

struct StageWork {
  const char* name;
  int launches = 0;
  double half_ops = 0, byte_ops = 0;
  double bytes = 0;  // of memory: what must be read or written at least once
  double asked = 0;  // that blocks ask the second cache for
  double host = 0;   // read from the host's memory
};

// The stage that a kernel is a part of.
const char* stage_of(const std::string& kernel);

// Of all windows together, with the tiles of a chip that has so many SMs.
std::vector<StageWork> encode_work(const Dims& dims, WeightType type, int sms, int windows);
// One token for `rows` rows of each window, with `past` positions behind them.
std::vector<StageWork> step_work(const Dims& dims, WeightType type, int windows, int rows, int past);

// Seconds that each limit allows, and the longest of them.
struct Least {
  const char* limit;  // "multiplications", "memory", "cache" or "link"
  double seconds;
};
Least least_time(const StageWork& work, const Chip& chip);

// Between two kernels of one graph, in which nothing runs. Source: "No bubbles" (Hazy Research, 2025), H100.
constexpr double kGapSeconds = 1.3e-6;

}  // namespace sotto::cuda
