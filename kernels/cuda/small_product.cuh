// y = x w^T + bias for 1 to 64 rows, bound by the bytes of w.
//
// Contract: x half [64][k]; w in tiles of 16 outputs x 32 values (decoder_weights.h); rows from the table's n_rows on are
// computed and never stored. Each warp sums a fixed part of k and the parts are added in order, so that a row's result
// depends on nothing but the row: not on other rows, nor on the class that the kernel is compiled for.
//
// The outputs are the 16 rows of mma.m16n8k16 and the rows of x its 8 columns, so 5 beams waste 3 columns and not 11.
// Both operands go from global memory straight into fragments: within 32 values of k a product may sum in any order, so
// a lane takes 16 consecutive bytes of its row of x, and the tiles of w are packed to match. No shared memory, no
// barrier before the last sum; the weights are on their way before a norm's moments are merged.
//
// Roofline: bytes n k (2, or 1 for int8) + rows k 2 (n / (16 tiles)) from L2; operations 2 n k rows. With 8 rows 8
// operations a byte, with 64 rows 64, where an H200 has 206 and an A100 150 to 200: memory is the limit. large-v3's qkv at
// 8 rows: 9.83 MB, 2.0 us of an H200's 4.8 TB/s. Predicted share; not measured: 70 to 80 % for widths from 1024 on, where
// a launch takes longer than it starts up; below 40 % for 384 and 512, whose 0.3 to 2 MB are latency.
#pragma once

#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shapes.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/weight_tile.cuh"

namespace sotto::cuda {

// Tiles of weights that a warp has in flight: as many as registers hold beside the sums and two steps of x.
constexpr int tiles_ahead(int tile_bytes, int split, int m, int n, int steps) {
  const int registers = split > 8 ? 116 : split <= 4 && n > 2 ? 160 : tile_bytes == 16 || m > 1 ? 176 : 192;
  const int ahead = (registers - 4 * m * n - 8 * n - 36) / (m * tile_bytes / 4);
  return ahead < 1 ? 1 : ahead > 6 ? (steps < 6 ? steps : 6) : ahead < steps ? ahead : steps;
}

// Sizes of one product: W, T, values to sum over, warps that share them, and what a warp's tile is: 16 m outputs, 8 n
// rows.
template <class W_, class T_, int k_, int split_, int m_, int n_>
struct Sizes {
  using W = W_;
  using T = T_;
  static constexpr int k = k_, split = split_, m = m_, n = n_;
  static constexpr int steps = k / 32 / split;  // of 32 values, of each warp
  static constexpr int ahead = tiles_ahead(sizeof(WeightTile<W>), split, m, n, steps);
  static_assert(steps * 32 * split == k);
};

// Adds a warp's part of k into sums. tiles: the first of its 16 kM outputs. meanwhile() runs once weights are on their way.
template <class S, class Meanwhile>
DEVICE void stream(const u32x4* tiles, const u32x4* x, int part, float (&sums)[S::m][S::n][4], const Meanwhile& meanwhile) {
  using W = typename S::W;
  constexpr int kRowTiles = S::k / 32 * kTileVectors<W>;  // to the next 16 outputs
  tiles += part * S::steps * kTileVectors<W>;
  x += (lane() >> 2) * (S::k / 8) + part * S::steps * 4 + (lane() & 3);
  WeightTile<W> w[S::ahead][S::m];
#pragma unroll
  for (int s = 0; s < S::ahead; s++) {
#pragma unroll
    for (int m = 0; m < S::m; m++) w[s][m] = load_tile<W>(tiles + m * kRowTiles + s * kTileVectors<W>);
  }
  meanwhile();
#pragma unroll
  for (int m = 0; m < S::m; m++) {
#pragma unroll
    for (int n = 0; n < S::n; n++) {
#pragma unroll
      for (int i = 0; i < 4; i++) sums[m][n][i] = 0;
    }
  }
  u32x4 rows[2][S::n];
  const auto load_rows = [&](int s) {
#pragma unroll
    for (int n = 0; n < S::n; n++) rows[s % 2][n] = load(x + n * S::k + s * 4);
  };
  load_rows(0);
#pragma unroll
  for (int s = 0; s < S::steps; s++) {
    if (s + 1 < S::steps) load_rows(s + 1);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t a[S::m][4], b[S::n][2];
#pragma unroll
      for (int m = 0; m < S::m; m++) fragment<W>(w[s % S::ahead][m], half, a[m]);
#pragma unroll
      for (int n = 0; n < S::n; n++) {
        b[n][0] = rows[s % 2][n].v[2 * half];
        b[n][1] = rows[s % 2][n].v[2 * half + 1];
      }
      mma_tile<typename S::T>(sums, a, b);
    }
    if (s + S::ahead < S::steps) {
#pragma unroll
      for (int m = 0; m < S::m; m++) {
        w[s % S::ahead][m] = load_tile<W>(tiles + m * kRowTiles + (s + S::ahead) * kTileVectors<W>);
      }
    }
  }
}

// Mean and 1 / deviation of some of the table's rows, into shared memory: f32x2 [kRows].
template <int kWidth, int kRows>
DEVICE void row_statistics(const Moments* moments, int first_row, int n_rows, f32x2* statistics) {
  constexpr int kParts = kWidth / kMomentValues, kEach = (kParts + 31) / 32;
  for (int i = warp(); i < kRows && first_row + i < n_rows; i += threads() / 32) {
    Moments part[kEach];
    float mean = 0, m2 = 0;
#pragma unroll
    for (int j = 0; j < kEach; j++) {
      const int at = j * 32 + lane();
      part[j] = at < kParts ? load(moments + (first_row + i) * kParts + at) : Moments{0, 0};
      mean += part[j].mean;
    }
    mean = warp_sum(mean) / kParts;
#pragma unroll
    for (int j = 0; j < kEach; j++) {
      const float d = part[j].mean - mean;
      if (j * 32 + lane() < kParts) m2 += part[j].m2 + kMomentValues * d * d;
    }
    m2 = warp_sum(m2);
    if (lane() == 0) store_shared(statistics + i, f32x2{mean, 1 / sqrtf(m2 / kWidth + 1e-5f)});
  }
}

// The parts of all warps, in shared memory [tile][part][lane], tile = m * n' + n.
template <class S>
DEVICE void put_parts(float (&sums)[S::m][S::n][4], int part, f32x4* parts) {
#pragma unroll
  for (int m = 0; m < S::m; m++) {
#pragma unroll
    for (int n = 0; n < S::n; n++) {
      store_shared(parts + ((m * S::n + n) * S::split + part) * 32 + lane(),
                   f32x4{sums[m][n][0], sums[m][n][1], sums[m][n][2], sums[m][n][3]});
    }
  }
}
template <int kSplit>
DEVICE f32x4 add_parts(const f32x4* parts, int tile) {
  f32x4 sum = load_shared(parts + tile * kSplit * 32 + lane());
#pragma unroll
  for (int part = 1; part < kSplit; part++) {
    const f32x4 more = load_shared(parts + (tile * kSplit + part) * 32 + lane());
#pragma unroll
    for (int i = 0; i < 4; i++) sum.v[i] += more.v[i];
  }
  return sum;
}

// What a lane has of a finished tile: outputs n and n + 1 of two neighbouring rows. y[row][output].
struct Outputs {
  int row, n;
  float y[2][2];
};

// Scale, norm and bias. statistics: null where no norm precedes.
DEVICE Outputs finish(const f32x4& sum, int row0, int n0, const ProductInput& in, const NormInput& norm,
                      const f32x2* statistics) {
  Outputs out = {row0 + 2 * (lane() & 3), n0 + 2 * (lane() >> 2), {{sum.v[0], sum.v[2]}, {sum.v[1], sum.v[3]}}};
  const f32x2 bias = load_readonly(reinterpret_cast<const f32x2*>(in.bias + out.n));
  f32x2 scale = {1, 1}, gain_sum = {0, 0};
  if (in.scale) scale = load_readonly(reinterpret_cast<const f32x2*>(in.scale + out.n));
  if (statistics) gain_sum = load_readonly(reinterpret_cast<const f32x2*>(norm.gain_sum + out.n));
#pragma unroll
  for (int r = 0; r < 2; r++) {
    f32x2 row = {0, 1};
    if (statistics) row = load_shared(statistics + out.row + r);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      out.y[r][i] = row.v[1] * (out.y[r][i] * scale.v[i] - row.v[0] * gain_sum.v[i]) + bias.v[i];
    }
  }
  return out;
}

// One block's product: 16 m outputs of 8 n rows. Blocks of the same outputs are neighbours, so that the weights are read
// once from memory. epilogue(outputs): called by whole warps, rows may be beyond n_rows.
template <class S, int kWidth, class Epilogue>
DEVICE void small_product(const ProductInput& in, const NormInput& norm, const Epilogue& epilogue) {
  constexpr bool kNorm = Epilogue::kNorm;
  auto* parts = reinterpret_cast<f32x4*>(shared_memory());
  auto* statistics = reinterpret_cast<f32x2*>(parts + S::split * S::m * S::n * 32);
  const int n_rows = load(&in.table->n_rows);
  const int first_row = block_x() % in.row_blocks * S::n * 8, first_tile = block_x() / in.row_blocks * S::m;
  if (first_row >= n_rows) return;
  float sums[S::m][S::n][4];
  const auto* tiles = static_cast<const u32x4*>(in.weights) +
                      int64_t{first_tile} * (S::k / 32) * kTileVectors<typename S::W>;
  const auto* x = static_cast<const u32x4*>(in.x) + first_row * (S::k / 8);
  stream<S>(tiles, x, warp(), sums, [&] {
    if constexpr (kNorm) row_statistics<kWidth, S::n * 8>(norm.moments, first_row, n_rows, statistics);
  });
  put_parts<S>(sums, warp(), parts);
  sync_threads();
  for (int tile = warp(); tile < S::m * S::n; tile += S::split) {
    const int row0 = tile % S::n * 8, n0 = (first_tile + tile / S::n) * 16;
    if (first_row + row0 >= n_rows) continue;
    Outputs out = finish(add_parts<S::split>(parts, tile), row0, n0, in, norm, kNorm ? statistics : nullptr);
    out.row += first_row;
    epilogue(out, n_rows);
  }
}

// q, k and v: q into its rows, k and v to where the rows' positions are kept.
template <class T, int kWidth>
struct StoreQkv {
  static constexpr bool kNorm = true;
  const QkvArgs& args;

  DEVICE void operator()(const Outputs& out, int n_rows) const {
    const int what = out.n / kWidth, column = out.n % kWidth;  // one head of one of the three
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const int row = out.row + r;
      if (row >= n_rows) continue;
      if (what == 0) {
        store(static_cast<uint32_t*>(args.q) + (row * kWidth + column) / 2,
              pack<T>(out.y[r][0] * kQueryScale, out.y[r][1] * kQueryScale));
      } else {
        const TableRow of = load(&args.in.table->row[row]);
        const int64_t at = of.slot * args.self.slot_stride +
                           (int64_t{column / kHead * args.self.max_rows + of.row} * kTextContext + of.position) * kHead +
                           column % kHead;
        store(static_cast<uint32_t*>(what == 1 ? args.self.keys : args.self.values) + at / 2,
              pack<T>(out.y[r][0], out.y[r][1]));
      }
    }
  }
};

// x += y; the operand and the moments of what follows.
template <class T, int kWidth>
struct AddResidual {
  static constexpr bool kNorm = false;
  const ResidualArgs& args;

  DEVICE void operator()(const Outputs& out, int n_rows) const {
    const f32x2 gain = load_readonly(reinterpret_cast<const f32x2*>(args.gain + out.n));
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const int row = out.row + r, at = row * kWidth + out.n;
      auto* x = reinterpret_cast<f32x2*>(args.x + at);
      f32x2 value = {0, 0};
      if (row < n_rows) value = load(x);
      value = {value.v[0] + out.y[r][0], value.v[1] + out.y[r][1]};
      if (row < n_rows) {
        store(x, value);
        store(static_cast<uint32_t*>(args.operand) + at / 2, pack<T>(value.v[0] * gain.v[0], value.v[1] * gain.v[1]));
      }
      float sum = value.v[0] + value.v[1];  // the 16 values of a row are in lanes of the same lane % 4
      for (int mask = 4; mask < 32; mask *= 2) sum += shuffle_xor(sum, mask);
      const float mean = sum / kMomentValues;
      float m2 = (value.v[0] - mean) * (value.v[0] - mean) + (value.v[1] - mean) * (value.v[1] - mean);
      for (int mask = 4; mask < 32; mask *= 2) m2 += shuffle_xor(m2, mask);
      if (lane() < 4 && row < n_rows) store(args.moments + at / kMomentValues, Moments{mean, m2});
    }
  }
};

template <class T, int kWidth>
struct StoreGelu {
  static constexpr bool kNorm = true;
  const Fc1Args& args;

  DEVICE void operator()(const Outputs& out, int n_rows) const {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      if (out.row + r >= n_rows) continue;
      store(static_cast<uint32_t*>(args.hidden) + ((out.row + r) * 4 * kWidth + out.n) / 2,
            pack<T>(gelu(out.y[r][0]), gelu(out.y[r][1])));
    }
  }
};

template <class W, class T, int kK, int kRows>
using SizesOf = Sizes<W, T, kK, split_warps(kK), output_tiles(kK, kRows), kRows / 8>;

template <class W, class T, int kWidth, int kRows>
DEVICE void qkv_product(const QkvArgs& args) {
  small_product<SizesOf<W, T, kWidth, kRows>, kWidth>(args.in, args.norm, StoreQkv<T, kWidth>{args});
}
template <class W, class T, int kWidth, int kK, int kRows>
DEVICE void residual_product(const ResidualArgs& args) {
  small_product<SizesOf<W, T, kK, kRows>, kWidth>(args.in, NormInput{}, AddResidual<T, kWidth>{args});
}
template <class W, class T, int kWidth, int kRows>
DEVICE void fc1_product(const Fc1Args& args) {
  small_product<SizesOf<W, T, kWidth, kRows>, kWidth>(args.in, args.norm, StoreGelu<T, kWidth>{args});
}

}  // namespace sotto::cuda
