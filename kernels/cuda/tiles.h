// The tiles that the encoder's products are built for: which of y one block computes, and how.
#pragma once

namespace sotto::cuda {

struct Tile {
  int m, n;              // of y, by one block
  int k;                 // values of a and w's rows in shared memory at once; 32 or 64
  int warps_m, warps_n;  // the block's warps, each with its part of the tile
  int stages;            // of k values in flight or in use

  constexpr int threads() const { return warps_m * warps_n * 32; }
  constexpr int bytes() const { return stages * (m + n) * k * 2; }  // of shared memory
};

// Two blocks of either of the first two fit an SM with 100 KB of shared memory, so one's barrier hides behind the other.
constexpr Tile kTiles[] = {
    {128, 128, 32, 2, 2, 3},  // the most work for each byte: where the grid fills the chip
    {128, 64, 32, 2, 2, 4},
    {64, 64, 64, 2, 2, 3},    // four times as many blocks: small models, one window
};
constexpr int kTileCount = 3, kTileThreads = 128;
static_assert(kTiles[0].threads() == kTileThreads && kTiles[1].threads() == kTileThreads &&
              kTiles[2].threads() == kTileThreads);
constexpr const char* kTileNames[] = {"128x128", "128x64", "64x64"};

// That of the products of bytes, whose k counts pairs of them: 128 values, which share a scale.
constexpr Tile kByteTile = {128, 128, 64, 2, 4, 3};
constexpr int kScaled = 128, kByteThreads = 256;
static_assert(kByteTile.k * 2 == kScaled && kByteTile.n == kScaled && kByteTile.threads() == kByteThreads);

// Predicted blocks of a tile on one SM at a time: 255 registers a thread allow two, shared memory the rest.
constexpr int blocks_per_sm(const Tile& tile, int shared_bytes_per_sm) {
  const int by_shared = shared_bytes_per_sm / (tile.bytes() + 1024);  // the driver keeps 1 KB of each block's
  return by_shared < 2 ? by_shared : 2;
}

}  // namespace sotto::cuda
