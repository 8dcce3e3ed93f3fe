// The decoder's two attentions as the host sees them. "half" is f16 or bf16, as the kernel's name says.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/step.h"

namespace sotto::cuda {

constexpr int kMaxHeads = 20;

// ---- Over a row's own past -----------------------------------------------------------------------------------------

constexpr int kSelfThreads = 128;

struct SelfAttentionArgs {
  const StepTable* table;
  const void* q;         // half [kMaxStepRows][heads * 64], times kQueryScale
  SelfMemory self;       // of the layer
  const uint8_t* where;  // [slot][max_rows][448]: the row that has a position's key and value; the newest is a row's own
  void* out;             // half [kMaxStepRows][heads * 64]
};

// "self_attention_f16"
std::string self_attention_kernel(WeightType type);
LaunchShape self_attention_shape(int heads, int row_class);

// ---- Over the window -----------------------------------------------------------------------------------------------

constexpr int kCrossThreads = 128;

// Blocks that share a head's keys; a constant of the model, since it orders the sums.
constexpr int cross_splits(int heads) { return heads <= 8 ? 12 : 6; }
// Floats that a block leaves for the one that merges: maxima, sums and values of its rows.
constexpr int kCrossPart = kGroupRows * (kHead + 2);
// Shared memory: values (4 floats more than 64 a row), maximum and sum of 16 rows of 4 warps, and a flag.
constexpr int kCrossShared = kCrossThreads / 32 * kGroupRows * (kHead + 4 + 2) * 4 + 16;

struct CrossAttentionArgs {
  const StepTable* table;
  const void* q;           // half [kMaxStepRows][heads * 64], times kQueryScale
  const void *keys, *values;  // of the layer: half [slot][...][head][kRows][64], slots slot_stride values apart
  int64_t slot_stride;
  float* parts;            // [group][head][split][kCrossPart]
  uint32_t* arrived;       // [group][head], zero between launches
  void* out;               // half [kMaxStepRows][heads * 64]
  float* scores;           // with scores: f32 [alignment head][kMaxStepRows][kRows], q k / 8
  int8_t score_head[kMaxHeads];  // which of the alignment heads a head is, or -1
};

// with_scores: also writes the scores of some heads. "cross_attention_f16_12"
std::string cross_attention_kernel(WeightType type, bool with_scores, int heads);
LaunchShape cross_attention_shape(int heads, int n_groups);

// ---- Where the alignment heads look --------------------------------------------------------------------------------

constexpr int kAttendedThreads = 256;

struct MostAttendedArgs {
  const SlotState* slots;
  int32_t first_slot;   // block 0's
  int32_t heads;        // alignment heads
  const float* scores;  // as cross attention writes them in a step
  int32_t* out;         // [slot]: the position
};

constexpr const char* kMostAttendedKernel = "most_attended";
LaunchShape most_attended_shape(int n_slots, int heads);

}  // namespace sotto::cuda
