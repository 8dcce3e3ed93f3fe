// The decoder as lists of launches: a step, a piece of a prompt, and what is wanted of single positions. Everything that
// changes from step to step is in device memory (step.h), so the list of one step, for a class of rows, serves all of them
// and can be a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/decoder_weights.h"
#include "kernels/cuda/embed.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/logits.h"
#include "kernels/cuda/step.h"
#include "models/dims.h"

namespace sotto::cuda {

// A decoder's memory beside its weights and the windows' cross keys and values.
struct DecoderBuffers {
  // Of the slots.
  SlotState* slots;  // [slots]
  SlotRows* rows;    // [slots]; rules.suppress points into suppress
  uint32_t* suppress;  // [slots][suppress_words()]
  uint8_t* where;    // [slots][max_rows][448]
  void *self_k, *self_v;  // half [slots][layers][heads][max_rows][448][64]
  // Of a step or a piece of a prompt.
  StepTable* table;
  float* x;               // [64][width]
  void *operand, *q, *attended;  // half [64][width]
  void* hidden;           // half [64][4 width]
  Moments* moments;       // [64][width / 16]
  float* parts;           // cross attention's
  uint32_t* arrived;
  LogitScans scans;
  // Of positions whose raw logits are wanted.
  StepTable* wanted_table;
  int32_t *wanted, *next;  // [64]
  void* wanted_operand;
  Moments* wanted_moments;
  float* logits;          // [64][padded_vocabulary]
  float* scores;          // [alignment heads][64][kRows]
  int32_t* most_attended;  // [slots]
};

struct DecoderPlan {
  Dims dims;
  WeightType type;
  int slots, max_rows;
  int alignment_heads;
};

constexpr int suppress_words(int vocabulary) { return (vocabulary + 31) / 32; }

// Must be zeros before the first use. On 256 bytes, like each part of it.
DecoderBuffers decoder_buffers(const DecoderPlan& plan, std::byte* base);
int64_t decoder_buffers_bytes(const DecoderPlan& plan);

struct Decoder {
  DecoderPlan plan;
  DecoderWeights weights;
  DecoderBuffers buffers;
  const void *cross_k, *cross_v;  // half [slots][layers][heads][kRows][64]
};

// Which slots and how many rows a step is for.
struct StepShape {
  int first_slot, n_slots;  // at most kMaxStepRows, with no more live rows than row_class
  int row_class;            // one of kRowClasses
  int n_groups;             // of up to 16 rows of one slot, no fewer than the slots have
};

// (layer, head) pairs.
using AlignmentHeads = std::vector<std::pair<int, int>>;

// One token for every live row of some slots. mail: [slots], mapped. With alignment heads, the mail also has the position
// at which they look most.
std::vector<Launch> step_launches(const Decoder& decoder, const StepShape& shape, SlotMail* mail,
                                  const AlignmentHeads& alignment_heads = {});

// All layers over the rows of buffers.table, which the host has written: positions of prompts, in order, `where` of their
// rows all 0. The scores of alignment_heads, which may be empty, go to buffers.scores.
std::vector<Launch> prompt_launches(const Decoder& decoder, int row_class, int n_groups,
                                    const AlignmentHeads& alignment_heads);

// After either: raw logits of the n_rows rows of the table that buffers.wanted lists, into buffers.logits; with `out`
// (mapped) also their probabilities, and those of buffers.next.
std::vector<Launch> wanted_launches(const Decoder& decoder, int n_rows, RowProbabilities* out);

}  // namespace sotto::cuda
