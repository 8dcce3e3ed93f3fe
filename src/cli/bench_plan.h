// `sotto bench --plan CHIP`: what a GPU that isn't at hand would need and could reach.
#pragma once

#include <string>

#include "kernels/network.h"
#include "models/dims.h"

namespace sotto {

// What a plan has to know of a model.
struct PlannedModel {
  std::string name;
  Dims dims;
  int alignment_heads;  // how many
};

// Prints memory and the least time of each stage, as a table or as JSON. chip: one that cuda::find_chip() knows. Throws
// Error if it is too small.
void bench_plan(const std::string& chip, const PlannedModel& model, const NetworkOptions& options, bool as_json);

}  // namespace sotto
