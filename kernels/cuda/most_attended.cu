// Where in the window the alignment heads look: for live captions, which hold back what the sound's end may still change.
//
// Contract: one block for each slot that steps. For the slot's first row (the best beam) the softmax of each alignment
// head's scores over the 1500 positions, their sum over the heads, and the position where it is largest, the first of equal
// ones. A warp does one head's maximum and sum, then each thread some positions of all heads.
//
// Roofline: heads x 1500 x 8 bytes a slot, some 100 KB: a launch's latency. Not measured.
#include "kernels/cuda/decode_attention.h"
#include "kernels/cuda/picks.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shapes.h"

namespace sotto::cuda {
namespace {

constexpr int kWarps = kAttendedThreads / 32, kEach = (kAudioContext + kAttendedThreads - 1) / kAttendedThreads;

}  // namespace

KERNEL(most_attended, kAttendedThreads, 1, MostAttendedArgs) {
  const int slot = args.first_slot + block_x();
  if (!load(&args.slots[slot].stepping)) return;
  const float* scores = args.scores + int64_t{load(&args.slots[slot].first_row)} * kRows;
  constexpr int64_t kOfHead = int64_t{kMaxStepRows} * kRows;
  auto* softmax = reinterpret_cast<f32x2*>(shared_memory());  // [heads]: maximum, 1 / sum
  auto* best = reinterpret_cast<uint32_t*>(softmax + args.heads);  // [warps]: largest sum, then its position
  for (int head = warp(); head < args.heads; head += kWarps) {
    const float* of = scores + head * kOfHead;
    float max = -INFINITY, sum = 0;
    for (int t = lane(); t < kAudioContext; t += 32) max = fmaxf(max, load(of + t));
    max = warp_max(max);
    for (int t = lane(); t < kAudioContext; t += 32) sum += expf(load(of + t) - max);
    sum = warp_sum(sum);
    if (lane() == 0) store_shared(softmax + head, f32x2{max, 1 / sum});
  }
  sync_threads();
  uint32_t largest = 0, position = 0;
  for (int i = 0; i < kEach; i++) {
    const int t = i * kAttendedThreads + thread();
    float sum = 0;
    for (int head = 0; head < args.heads && t < kAudioContext; head++) {
      const f32x2 of = load_shared(softmax + head);
      sum += expf(load(scores + head * kOfHead + t) - of.v[0]) * of.v[1];
    }
    if (t < kAudioContext && sortable(sum) > largest) {
      largest = sortable(sum);
      position = t;
    }
  }
  const uint32_t of_warp = reduce_max(largest), first = reduce_min(largest == of_warp ? position : 0xffffffffu);
  if (lane() == 0) {
    store_shared(best + 2 * warp(), of_warp);
    store_shared(best + 2 * warp() + 1, first);
  }
  sync_threads();
  if (warp() != 0) return;
  const bool has = lane() < kWarps;
  const uint32_t value = has ? load_shared(best + 2 * lane()) : 0, at = has ? load_shared(best + 2 * lane() + 1) : 0;
  const uint32_t of_block = reduce_max(value), answer = reduce_min(value == of_block ? at : 0xffffffffu);
  if (lane() == 0) store(args.out + slot, static_cast<int32_t>(answer));
}

}  // namespace sotto::cuda
