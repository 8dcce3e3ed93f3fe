// The end of a step, one block for each slot: what logits.cuh left of each row's tokens becomes the slot's new rows.
//
// Contract: a warp merges one row's lists, masses in the order of the tokens by lanes and then the lanes, picks best first
// (of equal ones the lower token); choose() and update_rows() of kernels/decode.h do the rest, as on every engine. Then
// the index table follows the rows' parents, and the slot's mail is written: rows first, sequence last. A slot that
// doesn't step is left alone.
//
// Roofline: rows lists 20 bytes, 16 KB a row of large-v3, and sequential work of one thread: latency. Predicted; not
// measured: 6 us greedy, 12 us for 5 beams, 1.5 % of large-v3's step and 20 % of tiny's. Stores of 4 bytes by single lanes
// are scattered: a few hundred bytes a step.
#include "kernels/cuda/logits.h"
#include "kernels/cuda/picks.cuh"
#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {
namespace {

constexpr int kWarps = kChooseThreads / 32;
constexpr int kAtOnce = 8;  // lists of a lane whose loads are in flight together: 811 tiles of tokens are 26 a lane

// What stands in shared memory before the warps' own: keys of the lists' heads and their next picks, whose place the index
// table takes later.
struct Work {
  union {
    Scan scan[kMaxRows];
    UpdateSpace space;  // when the scans have become choices
  };
  Choices choices[kMaxRows];
  SlotMail::Row ended[kMaxRows];  // rows of samples that end here, which the update drops
  int32_t n_ended;
};
static_assert(sizeof(Work) == kChooseFixed);

DEVICE Mass merge_masses(const Mass* masses, int n) {
  Mass all = no_mass();
  for (int first = lane(); first < n; first += 32 * kAtOnce) {
    Mass some[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      const int i = first + 32 * j;
      some[j] = no_mass();
      if (i >= n) continue;
      const f32x2 of = load(reinterpret_cast<const f32x2*>(masses + i));
      some[j] = {of.v[0], of.v[1]};
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) all = merge_mass(all, some[j]);
  }
  for (int mask = 16; mask > 0; mask /= 2) {
    const Mass other = {shuffle_xor(all.max, mask), shuffle_xor(all.sum, mask)};
    all = merge_mass(all, other);
  }
  return all;  // lane 0's counts
}

// A lane's lists are every 32nd: the best of their heads, of equal ones the first list.
DEVICE void best_head(const uint32_t* keys, int n, uint32_t& best, uint32_t& list) {
  best = list = 0;
  for (int first = lane(); first < n; first += 32 * kAtOnce) {
    uint32_t some[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) some[j] = first + 32 * j < n ? load_shared(keys + first + 32 * j) : 0;
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      if (some[j] <= best) continue;
      best = some[j];
      list = first + 32 * j;
    }
  }
}

// The best of the lists, merged by a warp. keys, next: [n] of this warp.
DEVICE void merge_picks(const Pick* picks, int stride, int n, int limit, uint32_t* keys, uint8_t* next, Picks& out) {
  const auto key_of = [](int token, float rank) { return token < 0 ? 0u : sortable(rank); };
  for (int first = lane(); first < n; first += 32 * kAtOnce) {
    int token[kAtOnce];
    float rank[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      const Pick* pick = picks + (first + 32 * j < n ? first + 32 * j : first);
      token[j] = load(&pick->token);
      rank[j] = load(&pick->rank);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) {
      if (first + 32 * j >= n) continue;
      store_shared(keys + first + 32 * j, key_of(token[j], rank[j]));
      store_shared(next + first + 32 * j, uint8_t{0});
    }
  }
  uint32_t best, list;
  best_head(keys, n, best, list);
  int found = 0;
  for (; found < limit; found++) {
    const uint32_t top = reduce_max(best);
    if (top == 0) break;
    const uint32_t from = reduce_min(best == top ? list : 0xffffffffu);
    if (best != top || from != list) continue;
    const int at = load_shared(next + list);
    out.pick[found] = load_pick(picks + int64_t{at} * stride + list);
    const Pick* following = picks + int64_t{at + 1} * stride + list;
    store_shared(keys + list, at + 1 < limit ? key_of(load(&following->token), load(&following->rank)) : 0u);
    store_shared(next + list, static_cast<uint8_t>(at + 1));
    best_head(keys, n, best, list);
  }
  if (lane() == 0) out.n = found;
}

DEVICE void find_ended(const SlotRows& slot, Work& work) {
  work.n_ended = 0;
  for (int i = 0; choices_wanted(slot) == 1 && i < slot.n_live; i++) {
    const Choices& choices = work.choices[i];
    if (choices.n == 0 || choices.choice[0].token != slot.rules.eot) continue;
    work.ended[work.n_ended++] = {slot.rules.eot, slot.n_sampled == 0 ? 0 : i, choices.choice[0].log_prob};
  }
}

// As follow_parents() of kernels/decode.h, in place. staged: [max_rows][448] in shared memory.
DEVICE void follow(const SlotRows& slot, int n_positions, uint8_t* where, uint32_t* staged) {
  constexpr int kWords = kTextContext / 4;
  const int words = n_positions / 4 + 1, n = slot.n_live;
  const uint8_t* parent = slot.parent[slot.n_sampled - 1];
  for (int i = thread(); i < n * words; i += kChooseThreads) {
    const int row = i / words, word = i % words;
    const auto* from = reinterpret_cast<const uint32_t*>(where + parent[row] * kTextContext);
    store_shared(staged + row * kWords + word, load(from + word));
  }
  sync_threads();
  for (int i = thread(); i < n * words; i += kChooseThreads) {
    const int row = i / words, word = i % words;
    uint32_t value = load_shared(staged + row * kWords + word);
    if (word == n_positions / 4) {
      const int shift = n_positions % 4 * 8;
      value = (value & ~(0xffu << shift)) | uint32_t(row) << shift;
    }
    store(reinterpret_cast<uint32_t*>(where + row * kTextContext) + word, value);
  }
}

// The slot's news, by one thread, so that nothing but its release orders them for the host.
DEVICE void post(const SlotRows& slot, SlotState& state, bool advanced, const Work& work, int most_attended,
                 SlotMail& mail) {
  const auto put = [](SlotMail::Row* to, int token, int parent, float log_prob) {
    store(&to->token, int32_t{token});
    store(&to->parent, int32_t{parent});
    store(&to->log_prob, log_prob);
  };
  SlotMail::Row* row = mail.row;
  for (int i = 0; advanced && i < slot.n_live; i++) {
    put(row++, slot.token[slot.n_sampled - 1][i], slot.parent[slot.n_sampled - 1][i], slot.log_prob[i]);
  }
  for (int i = 0; i < work.n_ended; i++) put(row++, work.ended[i].token, work.ended[i].parent, work.ended[i].log_prob);
  store(&mail.n_rows, static_cast<int32_t>(row - mail.row));
  store(&mail.done, int32_t{slot.done});
  store(&mail.most_attended, int32_t{most_attended});
  store(&state.stepping, int32_t{!slot.done});
  const uint32_t n_updates = load(&state.n_updates) + 1;
  store(&state.n_updates, n_updates);
  store_release_system(&mail.sequence, n_updates);
}

}  // namespace

KERNEL(choose, kChooseThreads, 1, ChooseArgs) {
  const int index = args.first_slot + block_x();
  SlotState& state = args.slots[index];
  SlotRows& slot = args.rows[index];
  if (!load(&state.stepping) || load(&slot.n_live) == 0) return;
  const LogitLists& lists = args.scans.lists;
  Work& work = *reinterpret_cast<Work*>(shared_memory());
  auto* keys = reinterpret_cast<uint32_t*>(shared_memory() + kChooseFixed) + warp() * lists.n;
  auto* next = reinterpret_cast<uint8_t*>(shared_memory() + kChooseFixed) + kWarps * lists.n * 4 + warp() * lists.n;

  const int n_before = slot.n_sampled, limit = choices_wanted(slot);
  for (int i = warp(); i < slot.n_live; i += kWarps) {
    const int64_t row = load(&state.first_row) + i;
    const Mass* masses = args.scans.masses + row * lists.n;
    const Pick* picks = args.scans.picks + row * args.scans.n_picks * lists.n;
    Scan& scan = work.scan[i];
    const Mass text = merge_masses(masses, lists.n_text);
    const Mass timestamps = merge_masses(masses + lists.n_text, lists.n - lists.n_text);
    if (lane() == 0) {
      scan.text = text;
      scan.timestamps = timestamps;
    }
    merge_picks(picks, lists.n, lists.n_text, limit, keys, next, scan.best_text);
    merge_picks(picks + lists.n_text, lists.n, lists.n - lists.n_text, limit, keys, next, scan.best_timestamps);
    sync_warp();
    if (lane() == 0) sotto::choose(slot.rules, scan, limit, work.choices[i]);
  }
  sync_threads();
  if (thread() == 0) {
    find_ended(slot, work);
    update_rows(slot, work.choices, work.space);
  }
  sync_threads();
  const bool advanced = slot.n_sampled > n_before;
  const int n_positions = load(&state.n_prompt) + n_before;
  if (advanced && n_positions < kTextContext) {
    follow(slot, n_positions, args.where + int64_t{index} * args.max_rows * kTextContext,
           reinterpret_cast<uint32_t*>(shared_memory() + kChooseFixed));
  }
  if (thread() == 0) {
    const int most_attended = args.most_attended ? load(args.most_attended + index) : -1;
    post(slot, state, advanced, work, most_attended, args.mail[index]);
  }
}

}  // namespace sotto::cuda
