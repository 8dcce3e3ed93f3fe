// What threads do together: barriers, warp operations, copies in flight.
#include <algorithm>
#include <cstring>

#include "simt/block.h"

namespace sotto::simt {

Position position() { return running().position; }

void yield() {
  Worker& me = worker();
  if (++me.idle_yields > 20'000'000) me.fail("threads wait for a store that never comes");
  me.switch_away();
}

// ---- Barriers ------------------------------------------------------------------------------------------------------

void open_if_complete(Block& block, int id) {
  Barrier& barrier = block.barriers[id];
  const int expected = id == 0 ? static_cast<int>(block.alive) : barrier.expected;
  if (barrier.arrived == 0 || barrier.arrived < expected) return;
  barrier.arrived = 0;
  barrier.generation++;
  for (uint32_t t = 0; t < block.n_threads; t++) {
    Thread& thread = block.threads[t];
    if (!thread.waits_at_barrier[id]) continue;
    thread.waits_at_barrier[id] = false;
    thread.warp->ready |= thread.lane_bit;
  }
}

void barrier(int id, int n_threads, bool waits, Place place) {
  if (skipped(place)) return;
  Worker& self = worker();
  Thread& me = *self.current;
  Block& block = *me.block;
  self.idle_yields = 0;
  if (id < 0 || id > 15 || (id != 0 && (n_threads <= 0 || n_threads % 32 != 0))) {
    self.fail("there is no barrier " + std::to_string(id) + " of " + std::to_string(n_threads) + " threads, at " +
              text_of(place));
  }
  Barrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    barrier.place = place;
    barrier.expected = n_threads;
  } else if (id == 0 && (barrier.place.line() != place.line() || barrier.place.column() != place.column())) {
    self.fail("a divergent barrier: some threads of the block are at " + text_of(barrier.place) + ", others at " +
              text_of(place));
  } else if (barrier.expected != n_threads) {
    self.fail("barrier " + std::to_string(id) + " is of " + std::to_string(barrier.expected) + " threads at " +
              text_of(barrier.place) + " and of " + std::to_string(n_threads) + " at " + text_of(place));
  }
  uint64_t* const ordered = &barrier.ordered[barrier.generation & 1];
  tsan_release(ordered);
  barrier.arrived++;
  const uint64_t generation = barrier.generation;
  if (waits) {
    me.waits_at_barrier[id] = true;
    me.warp->ready &= ~me.lane_bit;
  }
  open_if_complete(block, id);
  if (!waits) return;
  if (barrier.generation == generation) self.switch_away();
  tsan_acquire(ordered);
}

// ---- Warp operations -----------------------------------------------------------------------------------------------

void meet(Operation operation, void* operand, Place place, void (*act)(Warp&)) {
  Worker& self = worker();
  Thread& me = *self.current;
  Warp& warp = *me.warp;
  if (warp.alive != ~0u) self.fail("a warp operation at " + text_of(place) + ", but lanes of the warp have ended");
  if (warp.arrived == 0) {
    warp.operation = operation;
    warp.place = place;
  } else if (warp.operation != operation || warp.place.line() != place.line() ||
             warp.place.column() != place.column()) {
    self.fail("lanes of a warp part: some are at " + text_of(warp.place) + ", others at " + text_of(place));
  }
  me.operand = operand;
  warp.arrived |= me.lane_bit;
  self.idle_yields = 0;
  if (warp.arrived == ~0u) {
    act(warp);
    warp.arrived = 0;
    warp.generation++;
    warp.ready = ~0u;
    return;
  }
  warp.ready &= ~me.lane_bit;
  self.switch_away();
}

void sync_warp(Place place) {
  if (skipped(place)) return;
  Warp& warp = *running().warp;
  uint64_t* const ordered = &warp.ordered[warp.generation & 1];
  tsan_release(ordered);
  meet(Operation::sync, nullptr, place, [](Warp&) {});
  tsan_acquire(ordered);
}

uint32_t shuffle(uint32_t bits, int from_lane, Place place) {
  struct Operands {
    uint32_t bits, result;
    int from;
  } mine = {bits, 0, from_lane};
  meet(Operation::shuffle, &mine, place, [](Warp& warp) {
    const auto of = [&](int lane) { return static_cast<Operands*>(warp.threads[lane].operand); };
    for (int i = 0; i < 32; i++) of(i)->result = of(of(i)->from)->bits;
  });
  return mine.result;
}

uint32_t ballot(bool vote, Place place) {
  uint32_t mine = vote;
  meet(Operation::ballot, &mine, place, [](Warp& warp) {
    uint32_t votes = 0;
    for (int i = 0; i < 32; i++) votes |= *static_cast<uint32_t*>(warp.threads[i].operand) << i;
    for (int i = 0; i < 32; i++) *static_cast<uint32_t*>(warp.threads[i].operand) = votes;
  });
  return mine;
}

uint32_t reduce(uint32_t value, bool largest, Place place) {
  struct Operands {
    uint32_t value;
    bool largest;
  } mine = {value, largest};
  meet(Operation::reduce, &mine, place, [](Warp& warp) {
    const auto of = [&](int lane) { return static_cast<Operands*>(warp.threads[lane].operand); };
    uint32_t best = of(0)->value;
    for (int i = 1; i < 32; i++) best = of(0)->largest ? std::max(best, of(i)->value) : std::min(best, of(i)->value);
    for (int i = 0; i < 32; i++) of(i)->value = best;
  });
  return mine.value;
}

uint32_t transpose(uint32_t two, Place place) {
  meet(Operation::transpose, &two, place, [](Warp& warp) {
    uint16_t value[8][8];
    const auto of = [&](int lane) { return static_cast<uint32_t*>(warp.threads[lane].operand); };
    for (int i = 0; i < 32; i++) std::memcpy(&value[i / 4][i % 4 * 2], of(i), 4);
    for (int i = 0; i < 32; i++) *of(i) = value[i % 4 * 2][i / 4] | uint32_t{value[i % 4 * 2 + 1][i / 4]} << 16;
  });
  return two;
}

// ---- ldmatrix ------------------------------------------------------------------------------------------------------

namespace {

struct MatrixLoad {
  uint32_t* out;
  const std::byte* row;
  int n;
  bool transposed;
};

void load_matrices(Warp& warp) {
  const auto of = [&](int lane) { return static_cast<MatrixLoad*>(warp.threads[lane].operand); };
  const int n = of(0)->n;
  const bool transposed = of(0)->transposed;
  for (int matrix = 0; matrix < n; matrix++) {
    uint16_t value[8][8];
    for (int r = 0; r < 8; r++) std::memcpy(value[r], of(matrix * 8 + r)->row, 16);
    for (int lane = 0; lane < 32; lane++) {
      const int r = lane / 4, c = lane % 4 * 2;
      const uint16_t low = transposed ? value[c][r] : value[r][c], high = transposed ? value[c + 1][r] : value[r][c + 1];
      of(lane)->out[matrix] = low | uint32_t{high} << 16;
    }
  }
  if (worker().launch->counting) {
    for (int matrix = 0; matrix < n; matrix++) {
      const void* rows[8];
      for (int r = 0; r < 8; r++) rows[r] = of(matrix * 8 + r)->row;
      count_ldmatrix(rows);
    }
  }
}

void check_shared(const Thread& me, const void* at, uint32_t bytes, const Place& place) {
  const auto offset = static_cast<const std::byte*>(at) - me.position.shared;
  if (offset < 0 || offset + bytes > me.position.shared_bytes) {
    worker().fail("an address outside the " + std::to_string(me.position.shared_bytes) +
                  " bytes of shared memory: byte " + std::to_string(offset) + ", at " + text_of(place));
  }
}

void check_aligned(const void* at, uint32_t to, const Place& place) {
  if (reinterpret_cast<uintptr_t>(at) % to != 0) {
    worker().fail("an address that isn't a multiple of " + std::to_string(to) + ", at " + text_of(place));
  }
}

}  // namespace

void ldmatrix(uint32_t* out, const void* row, int n, bool transposed, Place place) {
  Thread& me = running();
  MatrixLoad mine = {out, static_cast<const std::byte*>(row), n, transposed};
  if (static_cast<int>(me.position.thread % 32) < 8 * n) {
    check_aligned(row, 16, place);
    check_shared(me, row, 16, place);
    tsan_read_16(row);
  }
  meet(Operation::ldmatrix, &mine, place, load_matrices);
}

// ---- Copies --------------------------------------------------------------------------------------------------------

namespace {

void land(const Copy& copy) {
  if (copy.from) {
    tsan_read_16(copy.from);
    std::memcpy(copy.to, copy.from, 16);
  } else {
    std::memset(copy.to, 0, 16);
  }
  tsan_write_16(copy.to);
}

}  // namespace

void copy_async(void* shared, const void* global, bool valid, Place place) {
  Worker& self = worker();
  Thread& me = *self.current;
  check_aligned(shared, 16, place);
  check_aligned(global, 16, place);
  check_shared(me, shared, 16, place);
  if (self.launch->counting) {
    if (valid) count_access(me, Space::global, global, 16, false, place);
    count_access(me, Space::shared, shared, 16, true, place);
  }
  const Copy copy = {shared, valid ? global : nullptr};
  if (self.launch->schedule.copies_land_early) {
    land(copy);
    return;
  }
  std::memset(shared, 0xff, 16);
  me.copies.push_back(copy);
}

void commit_copies() { running().groups.push_back(running().copies.size()); }

void wait_copies(int newest_in_flight, Place place) {
  if (skipped(place)) return;
  Thread& me = running();
  while (me.groups.size() - me.groups_landed > static_cast<size_t>(newest_in_flight)) {
    const size_t end = me.groups[me.groups_landed++];
    while (me.landed < end) land(me.copies[me.landed++]);
  }
  if (me.groups_landed == me.groups.size() && me.landed == me.copies.size()) {
    me.copies.clear();
    me.groups.clear();
    me.landed = me.groups_landed = 0;
  }
}

// ---- Single accesses -----------------------------------------------------------------------------------------------

void access(Space space, const void* at, uint32_t bytes, bool writes, Place place) {
  Worker& self = worker();
  Thread& me = *self.current;
  check_aligned(at, bytes, place);
  if (space == Space::shared) check_shared(me, at, bytes, place);
  if (self.launch->counting) count_access(me, space, at, bytes, writes, place);
}

}  // namespace sotto::simt
