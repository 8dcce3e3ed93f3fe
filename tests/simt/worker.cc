// Which fiber runs next, and how blocks begin and end.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <map>

#include "simt/block.h"

extern "C" __attribute__((weak)) void __asan_poison_memory_region(const volatile void*, size_t);
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*, size_t);

namespace sotto::simt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSharedAlignment = 1024;
constexpr uint64_t kMaxIdleYields = 20'000'000;

// Not memset: ThreadSanitizer watches that, and would see this thread write what fibers of blocks before have used.
void poison(std::byte* memory, size_t bytes) {
  auto* words = reinterpret_cast<uint64_t*>(memory);
  for (size_t i = 0; i < bytes / 8; i++) {
    words[i] = ~uint64_t{0};
    asm volatile("" ::: "memory");
  }
}

void enter_thread_main() { worker().thread_main(); }

}  // namespace

Worker& worker() {
  thread_local Worker self;
  return self;
}

// ---- Blocks --------------------------------------------------------------------------------------------------------

SharedMemory::~SharedMemory() {
  if (mapping_) unmap(mapping_, mapped_);
}

void SharedMemory::resize(size_t bytes) {
  const size_t pages = (bytes + kPage - 1) / kPage * kPage;
  if (!mapping_ || mapped_ != pages + 2 * kPage) {
    if (mapping_) unmap(mapping_, mapped_);
    mapped_ = pages + 2 * kPage;
    mapping_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages > 0) mprotect(mapping_ + kPage, pages, PROT_READ | PROT_WRITE);
  }
  // Ends where the unreadable page begins, as far as the alignment allows; AddressSanitizer knows the rest.
  data_ = mapping_ + kPage + (pages - bytes) / kSharedAlignment * kSharedAlignment;
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(mapping_ + kPage, pages);
  poison(mapping_ + kPage, pages);
  if (__asan_poison_memory_region) {
    __asan_poison_memory_region(mapping_ + kPage, data_ - mapping_ - kPage);
    __asan_poison_memory_region(data_ + bytes, mapping_ + kPage + pages - data_ - bytes);
  }
}

void Block::prepare(uint32_t n, uint32_t shared_bytes) {
  if (capacity < n) {
    threads = std::make_unique<Thread[]>(n);
    capacity = n;
  }
  n_threads = n;
  warps.resize(n / 32);
  shared.resize(shared_bytes);
}

void Block::start(Index block, Index grid, uint32_t shared_bytes, void (*entry)()) {
  alive = n_threads;
  for (Barrier& barrier : barriers) barrier.arrived = 0;
  for (uint32_t w = 0; w < warps.size(); w++) {
    Warp& warp = warps[w];
    warp.threads = &threads[w * 32];
    warp.alive = warp.ready = ~0u;
    warp.arrived = 0;
  }
  for (uint32_t t = 0; t < n_threads; t++) {
    Thread& thread = threads[t];
    thread.position = {t, n_threads, block, grid, shared.data(), shared_bytes};
    thread.block = this;
    thread.warp = &warps[t / 32];
    thread.lane_bit = 1u << t % 32;
    std::fill(std::begin(thread.waits_at_barrier), std::end(thread.waits_at_barrier), false);
    thread.copies.clear();
    thread.groups.clear();
    thread.landed = thread.groups_landed = 0;
    if (thread.stale) thread.fiber.prepare(entry, static_cast<int>(t));
    thread.stale = false;
  }
}

Worker::~Worker() {
  if (!kTsan) return;
  for (auto& block : blocks_) block.release();  // fibers that were left never say that they are done with it
}

// ---- Scheduling ----------------------------------------------------------------------------------------------------

uint32_t Worker::random() {  // xorshift, Marsaglia 2003
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

bool Worker::pick_warp() {
  const size_t n = warps_.size();
  const Order order = launch->schedule.order;
  size_t from = order == Order::run_ahead ? warp_ : warp_ + 1;
  if (order == Order::shuffled) from = random() % n;
  for (size_t i = 0; i < n; i++) {
    size_t at = from + i;
    while (at >= n) at -= n;
    if (warps_[at]->ready == 0) continue;
    warp_ = at;
    turn_ = warps_[at]->ready;
    first_lane_ = order == Order::shuffled ? random() % 32 : 0;
    return true;
  }
  return false;
}

Thread* Worker::pick() {
  uint32_t lanes = turn_ & warps_[warp_]->ready;
  if (lanes == 0) {
    if (!pick_warp()) return nullptr;
    lanes = turn_;
  }
  const int lane = (std::countr_zero(std::rotr(lanes, first_lane_)) + first_lane_) % 32;
  turn_ &= ~(1u << lane);
  return &warps_[warp_]->threads[lane];
}

void Worker::switch_away() {
  Thread* const from = current;
  Thread* const to = pick();
  if (to == from) return;
  if (!to) {
    for (const auto& block : blocks_) {
      if (block->alive > 0) fail(stuck());
    }
  }
  current = to;
  Fiber::go(from->fiber, to ? to->fiber : main_);
}

std::string Worker::stuck() const {
  std::map<std::string, int> where;
  for (const auto& block : blocks_) {
    if (block->alive == 0) continue;
    for (const Barrier& barrier : block->barriers) {
      if (barrier.arrived > 0) where["a barrier at " + text_of(barrier.place)] += barrier.arrived;
    }
    for (const Warp& warp : block->warps) {
      if (warp.arrived) where["a warp operation at " + text_of(warp.place)] += std::popcount(warp.arrived);
    }
  }
  std::string text = "no thread can go on:";
  for (const auto& [place, n] : where) text.append(" ").append(std::to_string(n)).append(" wait in ").append(place + ";");
  return text;
}

void Worker::fail(const std::string& what) {
  Thread& me = *current;
  {
    std::lock_guard lock(launch->mutex);
    const Index& b = me.position.block;
    if (!launch->failed) {
      launch->failure = what + " (block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," +
                        std::to_string(b.z) + ", thread " + std::to_string(me.position.thread) + ")";
    }
    launch->failed = true;
  }
  tsan_release(&launch->ends);
  current = nullptr;
  Fiber::go(me.fiber, main_);
  __builtin_unreachable();  // its stack is made anew
}

void Worker::end_thread() {
  Thread& me = *current;
  Block& block = *me.block;
  if (me.landed < me.copies.size()) fail("a thread ended while its copies were in flight");
  me.warp->alive &= ~me.lane_bit;
  me.warp->ready &= ~me.lane_bit;
  block.alive--;
  if (me.warp->arrived) fail("a lane ended while others waited for it at " + text_of(me.warp->place));
  open_if_complete(block, 0);
  idle_yields = 0;
  tsan_release(&block.ordered);
  tsan_release(&launch->ends);
}

void Worker::thread_main() {
  for (;;) {
    tsan_acquire(&launch->begins);
    tsan_acquire(&current->block->ordered);
    launch->kernel->run(launch->arguments);
    end_thread();
    switch_away();
  }
}

void Worker::run_group(uint64_t first, uint64_t last) {
  const uint32_t n = static_cast<uint32_t>(last - first);
  while (blocks_.size() < n) blocks_.push_back(std::make_unique<Block>());
  warps_.clear();
  for (const auto& block : blocks_) block->alive = 0;
  for (uint32_t i = 0; i < n; i++) {
    Block& block = *blocks_[i];
    const uint64_t number = first + i;
    const Index& grid = launch->grid;
    block.prepare(launch->threads, launch->shared_bytes);
    block.start({static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(number / grid.x % grid.y),
                 static_cast<uint32_t>(number / grid.x / grid.y)},
                grid, launch->shared_bytes, enter_thread_main);
    for (Warp& warp : block.warps) warps_.push_back(&warp);
  }
  warp_ = 0;
  turn_ = warps_[0]->ready;
  first_lane_ = 0;
  random_ = launch->schedule.seed * 2654435761u + static_cast<uint32_t>(first) + 1;
  if (random_ == 0) random_ = 1;
  idle_yields = 0;
  tsan_release(&launch->begins);
  current = pick();
  Fiber::go(main_, current->fiber);
  for (uint32_t i = 0; i < n; i++) {
    if (launch->failed) {
      for (uint32_t t = 0; t < blocks_[i]->n_threads; t++) blocks_[i]->threads[t].stale = true;
      blocks_[i]->sites.clear();
    } else if (launch->counting) {
      tsan_acquire(&launch->ends);
      fold_sites(*blocks_[i], counters);
    }
  }
}

void Worker::work(Launch& of) {
  launch = &of;
  counters = {};
  main_.adopt_caller();
  const uint64_t blocks = of.blocks();
  while (!of.failed) {
    const uint64_t first = of.next_block.fetch_add(of.resident_blocks);
    if (first >= blocks) break;
    run_group(first, std::min<uint64_t>(first + of.resident_blocks, blocks));
  }
  tsan_acquire(&of.ends);
  std::lock_guard lock(of.mutex);
  of.counters += counters;
  launch = nullptr;
}

}  // namespace sotto::simt
