// The first kernel of a step, and of a piece of a prompt, as the host sees it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/step.h"

namespace sotto::cuda {

constexpr int kEmbedThreads = 128;

struct EmbedArgs {
  StepTable* table;
  // embed_step: the slots that may take part, at most kMaxStepRows, whose live rows are no more than that together.
  SlotState* slots;
  const SlotRows* rows;
  int32_t first_slot, n_slots;
  // The token embedding as the product of the logits takes it, and what is written for each row.
  const void* weights;
  const float* scale;      // int8: [vocabulary]
  const float* positions;  // [448][width]
  const float* gain;       // [width], of the first norm
  float* x;                // [kMaxStepRows][width]
  void* operand;           // half [kMaxStepRows][width]: x gain
  Moments* moments;        // [kMaxStepRows][width / 16]
};

// plans: makes the step's table from the slots; else the host has written it. "embed_step_f16_384", "embed_rows_f16_384"
std::string embed_kernel(bool plans, WeightType type, int width);
LaunchShape embed_shape(int row_class);

}  // namespace sotto::cuda
