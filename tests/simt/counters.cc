// Traffic as the device would move it: what the lanes of one warp instruction ask for together.
#include <algorithm>

#include "simt/block.h"

#ifdef SIMT_TSAN
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace sotto::simt {
namespace {

// While it lives, ThreadSanitizer doesn't see the allocations that fibers make for what they have in common here.
struct Unwatched {
#ifdef SIMT_TSAN
  Unwatched() { __tsan_ignore_thread_begin(); }
  ~Unwatched() { __tsan_ignore_thread_end(); }
#else
  Unwatched() {}
#endif
};

constexpr uintptr_t kSector = 32;
constexpr int kBanks = 32, kBankBytes = 4;

uint64_t key_of(const Thread& thread, Space space, bool writes, const Place& place) {
  const uint64_t file = reinterpret_cast<uintptr_t>(place.file_name());
  uint64_t key = file * 0x9E3779B97F4A7C15u;
  key ^= uint64_t{place.line()} << 40 ^ uint64_t{place.column()} << 28;
  return key ^ uint64_t{thread.position.thread / 32} << 8 ^ uint64_t{writes} << 1 ^ (space == Space::shared ? 1u : 0u);
}

// Sectors that some accesses of a warp touch, and the least that so many different bytes need.
void count_sectors(const void* const* at, int n, uint32_t bytes, int64_t& sectors, int64_t& ideal) {
  uintptr_t sector[32 * 2], address[32];
  int n_sectors = 0;
  for (int i = 0; i < n; i++) {
    address[i] = reinterpret_cast<uintptr_t>(at[i]);
    sector[n_sectors++] = address[i] / kSector;  // natural alignment: one access never spans two
  }
  std::sort(sector, sector + n_sectors);
  sectors += std::unique(sector, sector + n_sectors) - sector;
  std::sort(address, address + n);
  const int64_t different = std::unique(address, address + n) - address;
  ideal += (different * bytes + kSector - 1) / kSector;
}

// Passes over the banks: accesses of 8 and 16 bytes are served half a warp and a quarter at a time; within one pass a
// bank gives one word, to all that ask for it.
int64_t wavefronts_of(const void* const* at, int n, uint32_t bytes) {
  int64_t most = 0;
  for (int bank = 0; bank < kBanks; bank++) {
    uintptr_t word[32];
    int n_words = 0;
    for (int i = 0; i < n; i++) {
      const uintptr_t first = reinterpret_cast<uintptr_t>(at[i]) / kBankBytes;
      for (uintptr_t w = first; w < first + std::max(bytes / kBankBytes, 1u); w++) {
        if (static_cast<int>(w % kBanks) == bank) word[n_words++] = w;
      }
    }
    std::sort(word, word + n_words);
    most = std::max<int64_t>(most, std::unique(word, word + n_words) - word);
  }
  return most;
}

void count_wavefronts(const void* const* at, int n, uint32_t bytes, int64_t& wavefronts, int64_t& ideal) {
  const int lanes = bytes <= 4 ? 32 : 128 / static_cast<int>(bytes);
  for (int i = 0; i < n; i += lanes) {
    wavefronts += wavefronts_of(at + i, std::min(lanes, n - i), bytes);
    ideal++;
  }
}

}  // namespace

void count_access(Thread& thread, Space space, const void* at, uint32_t bytes, bool writes, const Place& place) {
  const Unwatched unwatched;
  AccessSite& site = thread.block->sites[key_of(thread, space, writes, place)];
  site.space = space;
  site.writes = writes;
  site.bytes = bytes;
  site.at[thread.position.thread % 32].push_back(at);
}

void count_ldmatrix(const void* const (&rows)[8]) {
  Counters& counters = worker().counters;
  count_wavefronts(rows, 8, 16, counters.shared_wavefronts, counters.shared_wavefronts_ideal);
}

void fold_sites(Block& block, Counters& counters) {
  const Unwatched unwatched;
  for (const auto& [key, site] : block.sites) {
    size_t n = 0;
    for (const auto& of_lane : site.at) n = std::max(n, of_lane.size());
    for (size_t i = 0; i < n; i++) {
      const void* at[32];
      int lanes = 0;
      for (const auto& of_lane : site.at) {
        if (i < of_lane.size()) at[lanes++] = of_lane[i];
      }
      if (site.space == Space::shared) {
        count_wavefronts(at, lanes, site.bytes, counters.shared_wavefronts, counters.shared_wavefronts_ideal);
      } else if (site.writes) {
        counters.global_written += int64_t{lanes} * site.bytes;
        count_sectors(at, lanes, site.bytes, counters.sectors_written, counters.sectors_written_ideal);
      } else {
        counters.global_read += int64_t{lanes} * site.bytes;
        count_sectors(at, lanes, site.bytes, counters.sectors_read, counters.sectors_read_ideal);
      }
    }
  }
  block.sites.clear();
}

}  // namespace sotto::simt
