// Logits of a tile of tokens for all rows, and what the rules of kernels/decode.h leave of them.
//
// Contract: a block makes the logits of 64 tokens for up to 32 rows as small_product.cuh does, puts them in shared memory, and
// each warp scans rows: of the tile's text and of its timestamps the sum of exp(logit - max) and the best tokens, as many
// as the row's slot wants. 51,866 logits a row never reach memory; choose.cu merges what is left. Tiles are fixed, so
// sums don't depend on the class of rows. The raw variant stores the logits instead.
//
// Roofline: bytes vocabulary width (2, or 1 for int8) + 20 bytes for each tile, row and wanted pick: 133 MB for
// large-v3, 28 us of an H200's 4.8 TB/s; tiny 40 MB. Scanning a row's tile takes some 60 instructions of a warp and 15 for
// each pick, beside other blocks' loads. Predicted share; not measured: 85 % up to 16 rows, 70 % at 64 (the operand's
// 2.5 KB a row are read twice by each of 811 blocks).
#pragma once

#include "kernels/cuda/logits.h"
#include "kernels/cuda/picks.cuh"
#include "kernels/cuda/small_product.cuh"

namespace sotto::cuda {

constexpr int kLogitRow = kLogitTile + 4;  // floats; so that stores of 8 bytes by 4 rows don't conflict

// One row's tokens of one list: two for each lane. may: whether they count.
template <class RankOf>
DEVICE void scan_list(const float (&logit)[2], const bool (&may)[2], int first_token, int limit, const RankOf& rank_of,
                      const LogitScans& scans, int row, int list) {
  const float max = warp_max(fmaxf(may[0] ? logit[0] : -INFINITY, may[1] ? logit[1] : -INFINITY));
  float sum = 0, rank[2] = {};
  uint32_t key[2] = {};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (!may[i]) continue;
    sum += expf(logit[i] - max);
    rank[i] = rank_of(logit[i], first_token + i);
    key[i] = sortable(rank[i]);
  }
  sum = warp_sum(sum);
  if (lane() == 0) store(reinterpret_cast<f32x2*>(scans.masses + row * scans.lists.n + list), f32x2{max, sum});
  Pick* picks = scans.picks + int64_t{row} * scans.n_picks * scans.lists.n + list;
  for (int n = 0; n < limit; n++, picks += scans.lists.n) {
    const uint32_t best = reduce_max(key[0] > key[1] ? key[0] : key[1]);
    if (best == 0) {
      if (lane() == 0) store(&picks->token, int32_t{-1});
      break;
    }
    const bool first = key[0] == best, mine = first || key[1] == best;
    const uint32_t token = first_token + (first ? 0 : 1);
    if (reduce_min(mine ? token : 0xffffffffu) != token || !mine) continue;
    store_pick(picks, {first ? rank[0] : rank[1], first ? logit[0] : logit[1], static_cast<int32_t>(token)});
    if (first) {
      key[0] = 0;
    } else {
      key[1] = 0;
    }
  }
}

// Scans a row's tile. logits: [64] in shared memory.
DEVICE void scan_row(const LogitsArgs& args, int row, int tile, const float* logits) {
  const TableRow of = load(&args.in.table->row[row]);
  const SlotRows& slot = args.slots[of.slot];
  const Rules rules = slot.rules;
  const Allowed allowed = allowed_next(rules, slot.row[of.row]);
  const Ranking ranking = ranking_of(slot, of.row);
  const int limit = choices_wanted(slot), token = tile * kLogitTile + 2 * lane();
  const f32x2 pair = load_shared(reinterpret_cast<const f32x2*>(logits) + lane());
  const float logit[2] = {pair.v[0], pair.v[1]};
  bool text[2], timestamp[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int t = token + i;
    text[i] = t >= allowed.text_begin && t < rules.first_timestamp;
    timestamp[i] = t >= allowed.timestamp_begin && t < allowed.timestamp_end;
    if (!(logit[i] > -INFINITY) || !(text[i] || timestamp[i]) || !may_follow(rules, allowed, t)) {
      text[i] = timestamp[i] = false;
    }
  }
  const auto rank_of = [&](float value, int t) {
    if (ranking.temperature <= 0) return value;
    const Philox noise = philox(ranking.key, static_cast<uint32_t>(t >> 2), ranking.step, ranking.sample, 0);
    return value / ranking.temperature + gumbel(word_of(noise, t & 3));
  };
  const LogitLists& lists = args.scans.lists;
  if (tile < lists.n_text) scan_list(logit, text, token, limit, rank_of, args.scans, row, tile);
  if (tile >= lists.first_timestamp) {
    scan_list(logit, timestamp, token, limit, rank_of, args.scans, row, lists.n_text + tile - lists.first_timestamp);
  }
}

// The tile of logits in shared memory [rows][kLogitRow]; returns where. All threads leave behind a barrier.
template <class S, int kWidth>
DEVICE float* logit_tile(const ProductInput& in, const NormInput& norm, int first_row, int tile, int n_rows) {
  constexpr int kGroups = kLogitThreads / 32 / S::split, kTiles = S::m * S::n;
  static_assert(kGroups * S::m * 16 == kLogitTile);
  auto* parts = reinterpret_cast<f32x4*>(shared_memory());
  auto* statistics = reinterpret_cast<f32x2*>(parts + kGroups * S::split * kTiles * 32);
  auto* logits = reinterpret_cast<float*>(statistics + S::n * 8);
  const int group = warp() / S::split;
  float sums[S::m][S::n][4];
  const auto* tiles = static_cast<const u32x4*>(in.weights) +
                      int64_t{tile * (kLogitTile / 16) + group * S::m} * (S::k / 32) * kTileVectors<typename S::W>;
  const auto* x = static_cast<const u32x4*>(in.x) + first_row * (S::k / 8);
  stream<S>(tiles, x, warp() % S::split, sums, [&] {
    row_statistics<kWidth, S::n * 8>(norm.moments, first_row, n_rows, statistics);
  });
  put_parts<S>(sums, warp() % S::split, parts + group * S::split * kTiles * 32);
  sync_threads();
  // From the last to the first: counted up, i % S::n is warp() % S::split from above, which the compiler would keep all the
  // while, and sm_100 has no register left for it.
  for (int i = kGroups * kTiles - 1 - warp(); i >= 0; i -= kLogitThreads / 32) {
    const int row0 = i % S::n * 8, n0 = i / S::n * 16;
    if (first_row + row0 >= n_rows) continue;
    const Outputs out = finish(add_parts<S::split>(parts, i), row0, tile * kLogitTile + n0, in, norm, statistics);
    for (int r = 0; r < 2; r++) {
      store_shared(reinterpret_cast<f32x2*>(logits + (out.row + r) * kLogitRow + out.n - tile * kLogitTile),
                   f32x2{out.y[r][0], out.y[r][1]});
    }
  }
  sync_threads();
  return logits;
}

template <class W, class T, int kWidth, int kRows>
using LogitSizes = Sizes<W, T, kWidth, kLogitSplit, kLogitTile / 16 / (kLogitThreads / 32 / kLogitSplit), kRows / 8>;

template <class W, class T, int kWidth, int kRows>
DEVICE void logits(const LogitsArgs& args) {
  const int n_rows = load(&args.in.table->n_rows);
  const int first_row = block_x() % args.in.row_blocks * kRows, tile = block_x() / args.in.row_blocks;
  if (first_row >= n_rows) return;
  const float* made = logit_tile<LogitSizes<W, T, kWidth, kRows>, kWidth>(args.in, args.norm, first_row, tile, n_rows);
  for (int row = warp(); row < kRows && first_row + row < n_rows; row += kLogitThreads / 32) {
    scan_row(args, first_row + row, tile, made + row * kLogitRow);
  }
}

template <class W, class T, int kWidth, int kRows>
DEVICE void raw_logits(const RawLogitsArgs& args) {
  const int n_rows = load(&args.in.table->n_rows);
  const int first_row = block_x() % args.in.row_blocks * kRows, tile = block_x() / args.in.row_blocks;
  if (first_row >= n_rows) return;
  const float* made = logit_tile<LogitSizes<W, T, kWidth, kRows>, kWidth>(args.in, args.norm, first_row, tile, n_rows);
  for (int row = warp(); row < kRows && first_row + row < n_rows; row += kLogitThreads / 32) {
    const f32x2 pair = load_shared(reinterpret_cast<const f32x2*>(made + row * kLogitRow) + lane());
    store(reinterpret_cast<f32x2*>(args.logits + int64_t{first_row + row} * args.padded + tile * kLogitTile) + lane(), pair);
  }
}

}  // namespace sotto::cuda
