// Which rows a step has, and the residual stream that they start from: token embedding + position.
//
// Contract: embed_step counts the live rows of the slots that step, gives each row its place in the table (slots in
// order, rows of a slot in order) and each slot its groups for cross attention; embed_rows takes a table of the host's.
// Both write x, and operand and moments for the first layer's product. A block does one row; each finds its row by
// itself, so slots join and leave without another launch.
//
// Roofline: rows width (2 + 4 + 4 + 2) bytes, some 100 KB at 8 rows: a launch's latency, 2 to 3 us, is all there is.
// A row of the embedding lies in tiles of 16 tokens, so its sectors are read by halves. Not measured.
#pragma once

#include "kernels/cuda/embed.h"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/weight_tile.cuh"

namespace sotto::cuda {

// Sum over the lanes up to this one.
DEVICE int prefix_sum(int value) {
  for (int by = 1; by < 32; by *= 2) {
    const int other = shuffle_up(value, by);
    if (lane() >= by) value += other;
  }
  return value;
}

// What every warp works out for itself: a lane has slots lane() and lane() + 32 of the step's.
struct StepPlan {
  int n_rows, n_groups;
  int count[2], first_row[2], first_group[2];
};

DEVICE StepPlan plan_step(const EmbedArgs& args) {
  StepPlan plan = {};
  for (int half = 0; half < 2; half++) {
    const int i = half * 32 + lane(), slot = args.first_slot + i;
    int count = 0;
    if (i < args.n_slots && load(&args.slots[slot].stepping)) count = load(&args.rows[slot].n_live);
    const int groups = (count + kGroupRows - 1) / kGroupRows;
    const int rows_to = prefix_sum(count), groups_to = prefix_sum(groups);
    plan.count[half] = count;
    plan.first_row[half] = plan.n_rows + rows_to - count;
    plan.first_group[half] = plan.n_groups + groups_to - groups;
    plan.n_rows += shuffle(rows_to, 31);
    plan.n_groups += shuffle(groups_to, 31);
  }
  return plan;
}

// What the table has beside its rows.
DEVICE void write_plan(const EmbedArgs& args, const StepPlan& plan) {
  if (lane() == 0) {
    store(&args.table->n_rows, int32_t{plan.n_rows});
    store(&args.table->n_groups, int32_t{plan.n_groups});
  }
  for (int half = 0; half < 2; half++) {
    const int slot = args.first_slot + half * 32 + lane(), count = plan.count[half], first = plan.first_row[half];
    if (count == 0) continue;
    store(&args.slots[slot].first_row, int32_t{first});
    for (int row = 0, at = plan.first_group[half]; row < count; row += kGroupRows, at++) {
      CrossGroup* group = &args.table->group[at];
      store(&group->slot, int32_t{slot});
      store(&group->first, int32_t{first + row});
      store(&group->n_rows, int32_t{count - row < kGroupRows ? count - row : kGroupRows});
    }
  }
}

DEVICE TableRow find_row(const EmbedArgs& args, const StepPlan& plan, int row) {
  int slot = 0, first = 0;
  for (int half = 0; half < 2; half++) {
    const uint32_t mine = ballot(row >= plan.first_row[half] && row < plan.first_row[half] + plan.count[half]);
    int at = 0;  // the lane that has it, if one of this half does
    while (at < 31 && !(mine >> at & 1)) at++;
    const int start = shuffle(plan.first_row[half], at);
    if (mine) {
      slot = args.first_slot + half * 32 + at;
      first = start;
    }
  }
  const SlotRows& rows = args.rows[slot];
  const int n_sampled = load(&rows.n_sampled), in_slot = row - first;
  const int token = n_sampled == 0 ? load(&args.slots[slot].last_token) : load(&rows.token[n_sampled - 1][in_slot]);
  return {slot, in_slot, load(&args.slots[slot].n_prompt) + n_sampled - 1, token};
}

template <class W, class T, int kWidth, bool kPlans>
DEVICE void embed(const EmbedArgs& args) {
  const int row = block_x();
  TableRow of;
  if constexpr (kPlans) {
    const StepPlan plan = plan_step(args);
    if (row == 0 && warp() == 0) write_plan(args, plan);
    if (row >= plan.n_rows) return;
    of = find_row(args, plan, row);
    if (thread() == 0) store(&args.table->row[row], of);
  } else {
    if (row >= load(&args.table->n_rows)) return;
    of = load(&args.table->row[row]);
  }
  const auto* tiles = static_cast<const u32x4*>(args.weights) + int64_t{of.token / 16} * (kWidth / 32) * kTileVectors<W>;
  const float scale = args.scale ? load_readonly(args.scale + of.token) : 1.0f;
  for (int k = 2 * thread(); k < kWidth; k += 2 * kEmbedThreads) {  // whole warps: width is a multiple of 64
    f32x2 value = tile_pair<W>(tiles, of.token % 16, k);
    const f32x2 position = load_readonly(reinterpret_cast<const f32x2*>(args.positions + of.position * kWidth + k));
    const f32x2 gain = load_readonly(reinterpret_cast<const f32x2*>(args.gain + k));
    value = {value.v[0] * scale + position.v[0], value.v[1] * scale + position.v[1]};
    const int at = row * kWidth + k;
    store(reinterpret_cast<f32x2*>(args.x + at), value);
    store(static_cast<uint32_t*>(args.operand) + at / 2, pack<T>(value.v[0] * gain.v[0], value.v[1] * gain.v[1]));
    float sum = value.v[0] + value.v[1];
    for (int mask = 1; mask < 8; mask *= 2) sum += shuffle_xor(sum, mask);
    const float mean = sum / kMomentValues;
    float m2 = (value.v[0] - mean) * (value.v[0] - mean) + (value.v[1] - mean) * (value.v[1] - mean);
    for (int mask = 1; mask < 8; mask *= 2) m2 += shuffle_xor(m2, mask);
    if (lane() % 8 == 0) store(args.moments + at / kMomentValues, Moments{mean, m2});
  }
}

}  // namespace sotto::cuda
