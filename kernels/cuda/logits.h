// From the last hidden states to what may follow, as the host sees it: the product with the token embedding, whose
// results are scanned where they are made, and the merge of those scans that ends a step.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/step.h"

namespace sotto::cuda {

// ---- The product ---------------------------------------------------------------------------------------------------

constexpr int kLogitTile = 64;  // tokens of a block
constexpr int kLogitSplit = 4;  // warps that share the sum over k
constexpr int kLogitThreads = 256;

// A tile's tokens below the timestamps are one list, those from there on another: two for the tile that has both.
struct LogitLists {
  int32_t n_text;           // lists of text: the tiles from 0 on
  int32_t first_timestamp;  // the tile of the first list of timestamps
  int32_t n;                // in all
};
constexpr LogitLists logit_lists(int vocabulary, int first_timestamp) {
  const int tiles = (vocabulary + kLogitTile - 1) / kLogitTile, text = (first_timestamp + kLogitTile - 1) / kLogitTile;
  return {text, first_timestamp / kLogitTile, text + tiles - first_timestamp / kLogitTile};
}
constexpr int padded_vocabulary(int vocabulary) { return (vocabulary + kLogitTile - 1) / kLogitTile * kLogitTile; }

// What the product leaves of each row's tokens.
struct LogitScans {
  Mass* masses;     // [kMaxStepRows][lists]
  Pick* picks;      // [kMaxStepRows][n_picks][lists], best first; token -1 after a list's last
  int32_t n_picks;  // the most that a row may want: rows of a slot + 1
  LogitLists lists;
};

struct LogitsArgs {
  ProductInput in;  // k = width
  NormInput norm;
  const SlotRows* slots;
  LogitScans scans;
};
struct RawLogitsArgs {
  ProductInput in;
  NormInput norm;
  float* logits;  // [kMaxStepRows][padded_vocabulary]
  int32_t padded;
};

// "logits_f16_384_8"; raw ones are always of 32 rows: "raw_logits_f16_384"
std::string logits_kernel(WeightType type, int width, int row_class);
std::string raw_logits_kernel(WeightType type, int width);
constexpr int kRawRows = 32;
// rows: of a block. row_blocks: blocks that share a tile of tokens.
LaunchShape logits_shape(int vocabulary, int rows, int row_blocks);

// ---- The end of a step ---------------------------------------------------------------------------------------------

constexpr int kChooseThreads = 256;
constexpr int kChooseFixed = (sizeof(Scan) + sizeof(Choices) + sizeof(SlotMail::Row)) * kMaxRows + 4;  // shared bytes

struct ChooseArgs {
  SlotState* slots;
  SlotRows* rows;
  uint8_t* where;  // [slot][max_rows][448]
  int32_t max_rows;
  int32_t first_slot;  // block 0's
  LogitScans scans;
  const int32_t* most_attended;  // [slot], or null
  SlotMail* mail;                // [slot], mapped
};

constexpr const char* kChooseKernel = "choose";
LaunchShape choose_shape(int n_slots, int n_lists);

// ---- Probabilities from raw logits ---------------------------------------------------------------------------------

constexpr int kProbabilityThreads = 256;

struct RowProbabilities {
  float no_speech;                           // over the whole vocabulary
  float next;                                // of the token asked for, over the vocabulary below end-of-transcript
  float language_log_probs[kMaxLanguages];  // over the languages
};

struct ProbabilityArgs {
  const float* logits;  // [rows][padded]
  int32_t padded, vocabulary, eot, no_speech, first_language, n_languages;
  const int32_t* next;    // [rows]: the token asked for; -1: none
  RowProbabilities* out;  // [rows], may be mapped
};

constexpr const char* kProbabilityKernel = "probabilities";
LaunchShape probability_shape(int n_rows);

// Rows of operand and moments, one after the other: those whose logits are wanted.
struct GatherArgs {
  const int32_t* rows;  // [n]
  int32_t width;
  const void* operand;
  const Moments* moments;
  StepTable* to_table;  // gets the number of rows
  void* to_operand;
  Moments* to_moments;
};
constexpr const char* kGatherKernel = "gather_rows";
LaunchShape gather_shape(int n_rows);

}  // namespace sotto::cuda
