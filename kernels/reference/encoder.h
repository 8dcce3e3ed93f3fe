// The encoder: a mel in, 1500 positions out, and what the decoder's cross-attention needs of them.
#pragma once

#include "kernels/reference/model.h"
#include "kernels/team.h"

namespace sotto::reference {

// What one window leaves for the decoder, written once and read by all rows of its slot.
struct CrossMemory {
  Floats keys;    // [layer] of key panels (ops.h)
  Floats values;  // [layer][1500][width]
};

class Encoder {
 public:
  Encoder(const Model& model, Team& team);

  // mel: [3000][mel_bins]. encoded: [1500][width], after the last norm.
  void run(const float* mel, float* encoded);

  CrossMemory new_cross_memory() const;
  void fill_cross_memory(const float* encoded, CrossMemory& cross);

 private:
  const Model& model_;
  Team& team_;
  Floats mel_;      // [1 + 3000 + 1][mel_bins], a row of zeros on each side
  Floats conv1_;    // [1 + 3000 + 1][width], the same
  Floats x_, y_;    // [1500][width]
  Floats qkv_;      // [1500][3 width]
  Floats hidden_;   // [1500][4 width]
  Floats keys_;     // key panels
  Floats scratch_;  // [threads] of scores
};

}  // namespace sotto::reference
