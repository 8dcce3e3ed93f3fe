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

// Two blocks of the first three fit an SM with 100 KB of shared memory, so one's barrier hides behind the other.
constexpr Tile kTiles[] = {
    {128, 128, 32, 2, 2, 3},
    {128, 64, 32, 2, 2, 4},
    {64, 64, 64, 2, 2, 3},    // four times as many blocks: small models, one window
    {128, 256, 32, 2, 4, 3},  // the least bytes from the second cache for each multiplication: widths from 512 on
};
constexpr int kTileCount = 4, kWideTile = 3;
constexpr const char* kTileNames[] = {"128x128", "128x64", "64x64", "128x256"};
constexpr int kTileThreads[] = {kTiles[0].threads(), kTiles[1].threads(), kTiles[2].threads(), kTiles[3].threads()};
constexpr int kTileBlocks[] = {2, 2, 2, 1};  // on one SM, as far as registers go

// That of the products of bytes, whose k counts pairs of them: 128 values, which share a scale.
constexpr Tile kByteTile = {128, 128, 64, 2, 4, 3};
constexpr int kScaled = 128, kByteThreads = 256;
static_assert(kByteTile.k * 2 == kScaled && kByteTile.n == kScaled && kByteTile.threads() == kByteThreads);

}  // namespace sotto::cuda
