// A ring between one thread that writes and one that reads, without locks or allocation: what a sound card's callback may
// use.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

class SoundRing {
 public:
  explicit SoundRing(size_t least_samples) : samples_(std::bit_ceil(least_samples)) {}

  size_t capacity() const { return samples_.size(); }

  // The writing thread: all of it or, where that doesn't fit, nothing, which counts as lost.
  bool write(std::span<const float> samples) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t used = head - tail_.load(std::memory_order_acquire);
    if (samples.size() > samples_.size() - used) {
      lost_.fetch_add(samples.size(), std::memory_order_relaxed);
      return false;
    }
    const size_t at = head & (samples_.size() - 1);
    const size_t first = std::min(samples.size(), samples_.size() - at);
    std::copy_n(samples.begin(), first, samples_.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy(samples.begin() + static_cast<std::ptrdiff_t>(first), samples.end(), samples_.begin());
    head_.store(head + samples.size(), std::memory_order_release);
    return true;
  }

  // The reading thread: appends all there is.
  void read(std::vector<float>& out) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    const size_t n = head_.load(std::memory_order_acquire) - tail;
    const size_t at = tail & (samples_.size() - 1);
    const size_t first = std::min(n, samples_.size() - at);
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(at);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(first));
    out.insert(out.end(), samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(n - first));
    tail_.store(tail + n, std::memory_order_release);
  }

  uint64_t take_lost() { return lost_.exchange(0, std::memory_order_relaxed); }  // samples since the last call

 private:
  std::vector<float> samples_;
  alignas(64) std::atomic<uint64_t> head_ = 0;  // samples written so far
  alignas(64) std::atomic<uint64_t> tail_ = 0;  // ... and read
  std::atomic<uint64_t> lost_ = 0;
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
};

}  // namespace sotto
