// Names and launch shapes of the decoder's kernels.
#include <algorithm>
#include <string>

#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/embed.h"
#include "kernels/cuda/logits.h"
#include "kernels/cuda/small_product.h"
#include "models/dims.h"

namespace sotto::cuda {
namespace {

std::string weight_name(WeightType type) {
  switch (type) {
    case WeightType::f16: return "f16";
    case WeightType::bf16: return "bf16";
    case WeightType::i8: return "i8";
  }
  return "";
}

std::string operand_name(WeightType type) { return type == WeightType::bf16 ? "bf16" : "f16"; }

const char* product_name(SmallProduct product) {
  switch (product) {
    case SmallProduct::qkv: return "step_qkv_";
    case SmallProduct::out: return "step_out_";
    case SmallProduct::fc1: return "step_fc1_";
    case SmallProduct::fc2: return "step_fc2_";
  }
  return "";
}

uint32_t blocks(int64_t n, int64_t by) { return static_cast<uint32_t>(ceil_div(n, by)); }

// Shared memory of a product: each warp's part of each tile of 16 outputs x 8 rows, mean and deviation of the rows.
uint32_t product_bytes(int warps, int m, int rows, bool norm) {
  return static_cast<uint32_t>(warps * m * rows / 8 * 32 * 16 + (norm ? rows * 8 : 0));
}

}  // namespace

std::string small_product_kernel(SmallProduct product, WeightType type, int width, int row_class) {
  return product_name(product) + weight_name(type) + "_" + std::to_string(width) + "_" +
         std::to_string(block_rows(row_class));
}

LaunchShape small_product_shape(SmallProduct product, int n, int k, int row_class) {
  const int rows = block_rows(row_class), m = output_tiles(k, rows);
  const bool norm = product == SmallProduct::qkv || product == SmallProduct::fc1;
  return {.grid_x = blocks(n, 16 * m) * (row_class / rows),
          .threads = static_cast<uint32_t>(split_warps(k) * 32),
          .shared_bytes = product_bytes(split_warps(k), m, rows, norm)};
}

std::string embed_kernel(bool plans, WeightType type, int width) {
  return (plans ? "embed_step_" : "embed_rows_") + weight_name(type) + "_" + std::to_string(width);
}

LaunchShape embed_shape(int row_class) {
  return {.grid_x = static_cast<uint32_t>(row_class), .threads = kEmbedThreads};
}

std::string self_attention_kernel(WeightType type) { return "self_attention_" + operand_name(type); }

LaunchShape self_attention_shape(int heads, int row_class) {
  return {.grid_x = static_cast<uint32_t>(heads),
          .grid_y = static_cast<uint32_t>(row_class),
          .threads = kSelfThreads,
          .shared_bytes = kSelfThreads / 32 * (kHead + 8) * 4};
}

std::string cross_attention_kernel(WeightType type, bool with_scores, int heads) {
  return (with_scores ? "cross_attention_scores_" : "cross_attention_") + operand_name(type) + "_" +
         std::to_string(cross_splits(heads));
}

LaunchShape cross_attention_shape(int heads, int n_groups) {
  return {.grid_x = static_cast<uint32_t>(cross_splits(heads)),
          .grid_y = static_cast<uint32_t>(heads),
          .grid_z = static_cast<uint32_t>(n_groups),
          .threads = kCrossThreads,
          .shared_bytes = kCrossShared};
}

LaunchShape most_attended_shape(int n_slots, int heads) {
  return {.grid_x = static_cast<uint32_t>(n_slots),
          .threads = kAttendedThreads,
          .shared_bytes = static_cast<uint32_t>((heads + kAttendedThreads / 32) * 8)};
}

std::string logits_kernel(WeightType type, int width, int row_class) {
  return "logits_" + weight_name(type) + "_" + std::to_string(width) + "_" + std::to_string(block_rows(row_class));
}

std::string raw_logits_kernel(WeightType type, int width) {
  return "raw_logits_" + weight_name(type) + "_" + std::to_string(width);
}

LaunchShape logits_shape(int vocabulary, int rows, int row_blocks) {
  constexpr int kGroups = kLogitThreads / 32 / kLogitSplit;
  return {.grid_x = blocks(vocabulary, kLogitTile) * row_blocks,
          .threads = kLogitThreads,
          .shared_bytes = product_bytes(kLogitThreads / 32, kLogitTile / 16 / kGroups, rows, true) +
                          static_cast<uint32_t>(rows * (kLogitTile + 4) * 4)};
}

LaunchShape choose_shape(int n_slots, int n_lists) {
  const int lists = kChooseThreads / 32 * n_lists * 5, table = kMaxRows * kTextContext;
  return {.grid_x = static_cast<uint32_t>(n_slots),
          .threads = kChooseThreads,
          .shared_bytes = static_cast<uint32_t>(kChooseFixed + std::max(lists, table))};
}

LaunchShape probability_shape(int n_rows) {
  return {.grid_x = static_cast<uint32_t>(n_rows),
          .threads = kProbabilityThreads,
          .shared_bytes = 2 * kProbabilityThreads / 32 * 3 * 4};
}

LaunchShape gather_shape(int n_rows) {
  return {.grid_x = static_cast<uint32_t>(n_rows), .threads = kProbabilityThreads};
}

}  // namespace sotto::cuda
