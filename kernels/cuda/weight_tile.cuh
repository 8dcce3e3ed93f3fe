// The decoder's weights as they lie in memory: tiles of 16 outputs x 32 values, each the A fragments of two mma.m16n8k16
// for its 32 lanes, 16 bytes a lane and load. decoder_weights.h has the host's side.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

// int8 weights, stored as value + 128; their operands are f16.
struct s8 {
  uint8_t value;
};

// What one lane has of a tile.
template <class W>
struct WeightTile {
  u32x4 step[2];  // of 16 values
};
template <>
struct WeightTile<s8> {
  u32x4 both;
};
template <class W>
constexpr int kTileVectors = sizeof(WeightTile<W>) / 16 * 32;  // u32x4 of one tile

template <class W>
DEVICE WeightTile<W> load_tile(const u32x4* tile) {
  if constexpr (kSame<W, s8>) {
    return {load_streamed(tile + lane())};
  } else {
    return {{load_streamed(tile + lane()), load_streamed(tile + 32 + lane())}};
  }
}

template <class W>
DEVICE void fragment(const WeightTile<W>& tile, int step, uint32_t (&a)[4]) {
  if constexpr (kSame<W, s8>) {
    s8_to_f16(tile.both.v[2 * step], a[0], a[1]);
    s8_to_f16(tile.both.v[2 * step + 1], a[2], a[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = tile.step[step].v[i];
  }
}

// Values k and k + 1 (k even) of one of the 16 outputs of a row of tiles, without its scale.
template <class W>
DEVICE f32x2 tile_pair(const u32x4* tiles, int output, int k) {
  // As the fragments have it: outputs 2 g and 2 g + 1 are rows g and g + 8 of a; lane 4 g + c has values 8 c to 8 c + 7,
  // four of them in each step, in the order a[0] (a[1] for row g + 8), a[2] (a[3]).
  const int of_lane = output / 2 * 4 + k % 32 / 8, step = k % 8 / 4, word = k % 4 / 2 * 2 + output % 2;
  const u32x4* tile = tiles + k / 32 * kTileVectors<W>;
  f32x2 result;
  if constexpr (kSame<W, s8>) {
    const uint32_t bytes = load_readonly(&tile[of_lane].v[2 * step + word / 2]) >> 16 * (word % 2);
    result = {static_cast<float>(int(bytes & 0xff) - 128), static_cast<float>(int(bytes >> 8 & 0xff) - 128)};
  } else {
    unpack<W>(load_readonly(&tile[step * 32 + of_lane].v[word]), result.v[0], result.v[1]);
  }
  return result;
}

}  // namespace sotto::cuda
