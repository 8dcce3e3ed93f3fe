// What a machine can do at most, measured, and what each stage of the engine asks of it: together the share of the
// limit that a stage reaches.
#pragma once

#include "kernels/cpu/encoder.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/packed_model.h"
#include "kernels/team.h"

namespace sotto::cpu {

struct Limits {
  double multiply[kTypes] = {};  // operations a second (a multiply-add is two); 0: the type has no product
  double read = 0;               // bytes a second from memory
};

// On all threads of the team at once. Takes about a second.
Limits measure_limits(const Kernels& kernels, Team& team);
// The more of each: what else runs on a machine only ever takes away.
Limits best_of(const Limits& a, const Limits& b);

struct Work {
  double ops[kTypes] = {};
  double bytes = 0;  // that must come from memory: weights and K/V
};

// Of one window.
Work encoder_work(const Dims& dims, const Types& types);  // with its cross K/V
Work encoder_part_work(const Dims& dims, const Types& types, EncoderPart part);  // multiplications alone
// One step of `windows` windows with `rows` rows each, which have `shared` positions of their past in common, and then
// `own` of their own.
Work step_work(const Dims& dims, const Types& types, int windows, int rows, int shared, int own);
// Prompts of n tokens for `windows` windows.
Work prompt_work(const Dims& dims, const Types& types, int windows, int n);

// The least time that this work can take, in seconds: its multiplications or its reading, whichever is longer.
double least_seconds(const Work& work, const Limits& limits);

}  // namespace sotto::cpu
