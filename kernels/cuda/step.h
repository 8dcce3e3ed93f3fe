// State of decoding in the device's memory, and what passes between it and the host: plain data, same on both sides.
#pragma once

#include <cstdint>

#include "kernels/decode.h"

namespace sotto::cuda {

constexpr int kMaxStepRows = 64;  // rows that one step, or one piece of a prompt, may have
constexpr int kGroupRows = 16;    // rows of one slot that cross attention takes together
constexpr int kMaxLanguages = 104;

// One position of one sequence.
struct alignas(16) TableRow {
  int32_t slot;
  int32_t row;       // of the slot: where its key and value go, and whose past it has
  int32_t position;
  int32_t token;
};

// Rows [first, first + n_rows) of the table, all of one slot.
struct CrossGroup {
  int32_t slot, first, n_rows;
};

// What the decoder's kernels work on: written by embed_step() for a step, by the host for a prompt. Kernels are launched
// for a class of rows and leave out what is beyond n_rows, so one graph serves all steps.
struct StepTable {
  int32_t n_rows, n_groups;
  TableRow row[kMaxStepRows];  // rows of one slot together, positions of one sequence in order
  CrossGroup group[kMaxStepRows];
};

// What is known of a slot beside its SlotRows.
struct SlotState {
  int32_t n_prompt;    // tokens of the prompt
  int32_t last_token;  // the prompt's last, which the first step feeds
  int32_t stepping;    // takes part in steps
  int32_t first_row;   // of the step's table
  uint32_t n_updates;  // since the slot began
};

// One slot's news of a step, in mapped memory. Content first, then the sequence.
struct SlotMail {
  uint32_t sequence;  // SlotState::n_updates
  int32_t n_rows;     // live rows, then those that ended
  int32_t done;
  int32_t most_attended;  // -1: not computed
  struct Row {
    int32_t token, parent;
    float log_prob;
  } row[kMaxRows];
};

// Mean and sum of squared differences from it, of 16 neighbouring values of a row: merged, they normalise the row.
struct alignas(8) Moments {
  float mean, m2;
};
constexpr int kMomentValues = 16;

}  // namespace sotto::cuda
