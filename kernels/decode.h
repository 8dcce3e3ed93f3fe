// What happens to logits on their way to tokens: the rules that mask them, the choice of candidates, and the update of
// beams and samples. Plain functions over plain structs, for host and device, so that every engine decodes next to its
// logits and all decode alike. Source of the semantics: openai/whisper decoding.py (its LogitFilters, GreedyDecoder and
// BeamSearchDecoder), which computes in f32 as this does.
//
// One step of a slot:  row_state -> allowed_next -> scan_part over parts of the vocabulary -> merge_scans in order ->
// choose -> update_beams or update_samples.
#pragma once

#include <cmath>
#include <cstdint>

#include "models/dims.h"

#if defined(__CUDACC__)
#define SOTTO_HOST_DEVICE __host__ __device__ inline
#else
#define SOTTO_HOST_DEVICE inline
#endif

namespace sotto {

constexpr int kMaxRows = 32;        // beams or samples of one slot at most
constexpr int kMaxFinished = 256;   // hypotheses a slot can keep: round(beams * patience) at most
constexpr int kBlankToken = 220;    // " ", in all three vocabularies

// ---- The rules -----------------------------------------------------------------------------------------------------

// What may be sampled in one slot, from begin() on.
struct Rules {
  int32_t vocabulary;
  int32_t eot;
  int32_t no_timestamps;
  int32_t first_timestamp;
  int32_t max_initial_timestamp;  // steps of 0.02 s; negative: no limit
  bool timestamps;                // apply the timestamp grammar
  bool suppress_blank;
  const uint32_t* suppress;       // one bit a token; null: none
};

// All that the rules and the scores need to know of a row's past: 16 bytes.
struct RowState {
  int32_t last_timestamp;   // token; -1: none sampled so far
  float sum_log_prob;
  uint16_t n_sampled;
  bool last_is_timestamp;
  bool before_is_timestamp;  // the one before the last; a missing one counts as a timestamp
  uint32_t sample;           // which of the slot's samples this is: keys its noise
};
static_assert(sizeof(RowState) == 16);

SOTTO_HOST_DEVICE RowState first_row_state(int sample) {
  return {-1, 0.0f, 0, false, true, static_cast<uint32_t>(sample)};
}

SOTTO_HOST_DEVICE RowState row_after(const Rules& rules, RowState row, int token, float sum_log_prob) {
  row.before_is_timestamp = row.n_sampled == 0 || row.last_is_timestamp;
  row.last_is_timestamp = token >= rules.first_timestamp;
  if (row.last_is_timestamp) row.last_timestamp = token;
  row.n_sampled++;
  row.sum_log_prob = sum_log_prob;
  return row;
}

// The next token's ranges: [text_begin, first_timestamp) and [timestamp_begin, timestamp_end), either may be empty.
// may_follow() takes single tokens out of them.
struct Allowed {
  int32_t text_begin;
  int32_t timestamp_begin, timestamp_end;
  bool no_blank;  // neither " " nor end-of-transcript
};

SOTTO_HOST_DEVICE Allowed allowed_next(const Rules& rules, const RowState& row) {
  const bool first = row.n_sampled == 0;
  Allowed allowed = {0, rules.first_timestamp, rules.vocabulary, first && rules.suppress_blank};
  if (!rules.timestamps) return allowed;
  if (first) {  // a timestamp, and an early one
    allowed.text_begin = rules.first_timestamp;
    const int latest = rules.first_timestamp + rules.max_initial_timestamp + 1;
    if (rules.max_initial_timestamp >= 0 && latest < rules.vocabulary) allowed.timestamp_end = latest;
    return allowed;
  }
  const bool unpaired = row.last_is_timestamp && !row.before_is_timestamp;
  if (unpaired) allowed.text_begin = rules.eot;  // a segment's end: its pair or the end of all must follow
  if (row.last_timestamp >= 0) allowed.timestamp_begin = row.last_timestamp + (unpaired ? 0 : 1);
  if (row.last_is_timestamp && row.before_is_timestamp) allowed.timestamp_begin = rules.vocabulary;
  return allowed;
}

// Whether a token inside the ranges of `allowed` may be sampled.
SOTTO_HOST_DEVICE bool may_follow(const Rules& rules, const Allowed& allowed, int token) {
  if (rules.suppress && (rules.suppress[token >> 5] >> (token & 31) & 1u)) return false;
  if (allowed.no_blank && (token == kBlankToken || token == rules.eot)) return false;
  return !(rules.timestamps && token == rules.no_timestamps);
}

// ---- Noise for sampling --------------------------------------------------------------------------------------------

struct Philox {
  uint32_t word[4];
};

// Philox 4x32-10, a counter-based generator. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011.
SOTTO_HOST_DEVICE Philox philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Word i of four; by choice, for the reason that UpdateSpace gives.
SOTTO_HOST_DEVICE uint32_t word_of(const Philox& noise, int i) {
  const uint32_t even = i & 2 ? noise.word[2] : noise.word[0], odd = i & 2 ? noise.word[3] : noise.word[1];
  return i & 1 ? odd : even;
}

// A Gumbel variate: the token with the largest logit / temperature + gumbel is a sample of their softmax. Taken from
// the small end of the unit interval, where f32 is finest, since the large variates decide.
SOTTO_HOST_DEVICE float gumbel(uint32_t bits) {
  float u = (static_cast<float>(bits) + 0.5f) * 0x1p-32f;
  if (u > 0x1.fffffep-1f) u = 0x1.fffffep-1f;
  return -logf(-log1pf(-u));
}

// How a step's tokens are ranked: by logit, or above temperature 0 with noise that depends on nothing but its key, the
// sample, the step and the token.
struct Ranking {
  float temperature;
  uint64_t key;
  uint32_t sample, step;
};

// ---- Candidates of one row -----------------------------------------------------------------------------------------

// Sum of exp(logit - max) over some tokens.
struct Mass {
  float max, sum;
};

SOTTO_HOST_DEVICE Mass no_mass() { return {-INFINITY, 0.0f}; }

SOTTO_HOST_DEVICE Mass merge_mass(Mass a, Mass b) {
  if (b.sum == 0.0f) return a;
  if (a.sum == 0.0f) return b;
  const float max = a.max > b.max ? a.max : b.max;
  return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

struct Pick {
  float rank;  // the logit, or with noise and temperature
  float logit;
  int32_t token;
};

// The best of some tokens, best first; of equal ones the lower token first.
struct Picks {
  int32_t n;
  Pick pick[kMaxRows + 1];
};

SOTTO_HOST_DEVICE bool better(const Pick& a, const Pick& b) {
  return a.rank > b.rank || (a.rank == b.rank && a.token < b.token);
}

SOTTO_HOST_DEVICE void keep_best(Picks& picks, int limit, const Pick& pick) {
  if (picks.n == limit && !better(pick, picks.pick[limit - 1])) return;
  int i = picks.n < limit ? picks.n++ : limit - 1;
  for (; i > 0 && better(pick, picks.pick[i - 1]); i--) picks.pick[i] = picks.pick[i - 1];
  picks.pick[i] = pick;
}

// What a part of the vocabulary comes to. Text (all below the timestamps) and timestamps apart, since only when all is
// seen it shows whether text is masked.
struct Scan {
  Mass text, timestamps;
  Picks best_text, best_timestamps;
};

SOTTO_HOST_DEVICE void clear_scan(Scan& scan) {
  scan.text = scan.timestamps = no_mass();
  scan.best_text.n = scan.best_timestamps.n = 0;
}

// One of a scan's two ranges.
SOTTO_HOST_DEVICE void scan_range(const Rules& rules, const Allowed& allowed, const Ranking& ranking,
                                  const float* logits, int first, int last, int limit, Mass& mass, Picks& picks) {
  Mass part = no_mass();
  Philox noise = {};
  int noise_of = -1;  // four tokens share one call of the generator
  for (int token = first; token < last; token++) {
    const float logit = logits[token];
    if (!(logit > -INFINITY) || !may_follow(rules, allowed, token)) continue;
    if (logit > part.max) part.max = logit;
    Pick pick = {logit, logit, token};
    if (ranking.temperature > 0) {
      if (noise_of != token >> 2) {
        noise_of = token >> 2;
        noise = philox(ranking.key, static_cast<uint32_t>(noise_of), ranking.step, ranking.sample, 0);
      }
      pick.rank = logit / ranking.temperature + gumbel(word_of(noise, token & 3));
    }
    keep_best(picks, limit, pick);
  }
  for (int token = first; token < last; token++) {
    const float logit = logits[token];
    if (logit > -INFINITY && may_follow(rules, allowed, token)) part.sum += expf(logit - part.max);
  }
  mass = merge_mass(mass, part);
}

// Adds tokens [first, last) of one row to what has been scanned. logits: [vocabulary]. limit: picks wanted.
SOTTO_HOST_DEVICE void scan_part(const Rules& rules, const Allowed& allowed, const Ranking& ranking,
                                 const float* logits, int first, int last, int limit, Scan& scan) {
  const int text_first = first > allowed.text_begin ? first : allowed.text_begin;
  const int text_last = last < rules.first_timestamp ? last : rules.first_timestamp;
  const int time_first = first > allowed.timestamp_begin ? first : allowed.timestamp_begin;
  const int time_last = last < allowed.timestamp_end ? last : allowed.timestamp_end;
  scan_range(rules, allowed, ranking, logits, text_first, text_last, limit, scan.text, scan.best_text);
  scan_range(rules, allowed, ranking, logits, time_first, time_last, limit, scan.timestamps, scan.best_timestamps);
}

// The order of merging decides the last bits of the sums: merge parts of a fixed size from the first to the last.
SOTTO_HOST_DEVICE void merge_scans(Scan& into, const Scan& part, int limit) {
  into.text = merge_mass(into.text, part.text);
  into.timestamps = merge_mass(into.timestamps, part.timestamps);
  for (int i = 0; i < part.best_text.n; i++) keep_best(into.best_text, limit, part.best_text.pick[i]);
  for (int i = 0; i < part.best_timestamps.n; i++) keep_best(into.best_timestamps, limit, part.best_timestamps.pick[i]);
}

struct Choice {
  int32_t token;
  float log_prob;  // after all rules, not divided by the temperature
};

// The candidates of a row, best first. None where every token is masked.
struct Choices {
  int32_t n;
  Choice choice[kMaxRows + 1];
};

// Ends a row's scan: if all timestamps together are more likely than any single text token, text is masked.
SOTTO_HOST_DEVICE void choose(const Rules& rules, const Scan& scan, int limit, Choices& out) {
  const float max = scan.text.max > scan.timestamps.max ? scan.text.max : scan.timestamps.max;
  const bool only_timestamps = rules.timestamps && scan.timestamps.sum > 0 &&
                               (scan.timestamps.max - max) + logf(scan.timestamps.sum) > scan.text.max - max;
  const Mass mass = only_timestamps ? scan.timestamps : merge_mass(scan.text, scan.timestamps);
  const float log_sum = logf(mass.sum);
  const Picks &text = scan.best_text, &timestamps = scan.best_timestamps;
  const int n_text = only_timestamps ? 0 : text.n;
  int next_text = 0, next_timestamp = 0;
  for (out.n = 0; out.n < limit && (next_text < n_text || next_timestamp < timestamps.n); out.n++) {
    const bool takes_text = next_timestamp == timestamps.n ||
                            (next_text < n_text && better(text.pick[next_text], timestamps.pick[next_timestamp]));
    const Pick& pick = takes_text ? text.pick[next_text++] : timestamps.pick[next_timestamp++];
    out.choice[out.n] = {pick.token, (pick.logit - mass.max) - log_sum};
  }
}

// ---- Rows of one slot ----------------------------------------------------------------------------------------------

// A row that left: its tokens are those of row `row` after n_tokens steps.
struct FinishedRow {
  int32_t n_tokens;
  int32_t row;
  float sum_log_prob;
  bool reached_eot;
};

// Everything that is known of a slot's rows between steps. Live rows are [0, n_live), best first for beams.
struct SlotRows {
  Rules rules;
  float temperature;
  uint64_t sample_key;
  int32_t n_rows;        // beams or samples wanted
  int32_t max_finished;  // a beam search ends with so many
  int32_t token_limit;
  int32_t n_sampled;     // steps so far
  int32_t n_live;
  int32_t n_finished;
  bool done;
  RowState row[kMaxRows];
  FinishedRow finished[kMaxFinished];
  int32_t token[kTextContext][kMaxRows];   // by step and row after it
  uint8_t parent[kTextContext][kMaxRows];  // row of the step before; 0 for the first step
  float log_prob[kMaxRows];                // of the last step's tokens
};

// Beams start as one row, which all descend from; samples part at once. Set the settings' fields first.
SOTTO_HOST_DEVICE void start_rows(SlotRows& slot) {
  slot.n_sampled = slot.n_finished = 0;
  slot.done = slot.token_limit <= 0;
  slot.n_live = slot.temperature > 0 ? slot.n_rows : 1;
  for (int i = 0; i < slot.n_live; i++) slot.row[i] = first_row_state(i);
}

// Candidates that a row must bring to the update.
SOTTO_HOST_DEVICE int choices_wanted(const SlotRows& slot) {
  return slot.temperature > 0 || slot.n_rows == 1 ? 1 : slot.n_rows + 1;
}

SOTTO_HOST_DEVICE Ranking ranking_of(const SlotRows& slot, int row) {
  return {slot.temperature, slot.sample_key, slot.row[row].sample, static_cast<uint32_t>(slot.n_sampled)};
}

SOTTO_HOST_DEVICE void finish_row(SlotRows& slot, int row, float sum_log_prob, bool reached_eot) {
  slot.finished[slot.n_finished++] = {slot.n_sampled, row, sum_log_prob, reached_eot};
}

// Puts row `parent` continued by `token` among the rows after this step.
SOTTO_HOST_DEVICE void continue_row(SlotRows& slot, RowState* next, int& n_next, int parent, const Choice& choice,
                                    float sum_log_prob) {
  next[n_next] = row_after(slot.rules, slot.row[parent], choice.token, sum_log_prob);
  slot.token[slot.n_sampled][n_next] = choice.token;
  slot.parent[slot.n_sampled][n_next] = static_cast<uint8_t>(slot.n_sampled == 0 ? 0 : parent);
  slot.log_prob[n_next] = choice.log_prob;
  n_next++;
}

SOTTO_HOST_DEVICE void end_step(SlotRows& slot, const RowState* next, int n_next) {
  if (n_next > 0) {
    for (int i = 0; i < n_next; i++) slot.row[i] = next[i];
    slot.n_sampled++;
  }
  slot.n_live = n_next;
  slot.done = n_next == 0 || slot.n_sampled >= slot.token_limit;
}

// Where an update keeps the rows to come. A GPU has it in shared memory: arrays of a function's own that are indexed by
// what is only known when it runs would be in its slow local memory.
struct UpdateSpace {
  RowState next[kMaxRows];
  int32_t taken[kMaxRows];
};

// Greedy decoding and samples: each live row takes its best choice; one that reaches end-of-transcript leaves. A row
// with nothing left to choose leaves too, unfinished. choices: [n_live].
SOTTO_HOST_DEVICE void update_samples(SlotRows& slot, const Choices* choices, UpdateSpace& space) {
  RowState* const next = space.next;
  int n_next = 0;
  for (int i = 0; i < slot.n_live; i++) {
    const float sum = slot.row[i].sum_log_prob + (choices[i].n > 0 ? choices[i].choice[0].log_prob : 0.0f);
    if (choices[i].n == 0) {
      finish_row(slot, i, sum, false);
    } else if (choices[i].choice[0].token == slot.rules.eot) {
      finish_row(slot, i, sum, true);
    } else {
      continue_row(slot, next, n_next, i, choices[i].choice[0], sum);
    }
  }
  end_step(slot, next, n_next);
}

// Beam search: of all rows' candidates in order of their summed log-probs, those that end are finished and the others
// become the new rows, until there are n_rows. With nothing to continue, the rows stay as they are and the search ends.
// choices: [n_live], each with n_rows + 1 or all there are.
SOTTO_HOST_DEVICE void update_beams(SlotRows& slot, const Choices* choices, UpdateSpace& space) {
  RowState* const next = space.next;
  int32_t* const taken = space.taken;
  for (int i = 0; i < slot.n_live; i++) taken[i] = 0;
  int n_next = 0;
  while (n_next < slot.n_rows) {
    int best = -1;
    float best_sum = -INFINITY;
    for (int i = 0; i < slot.n_live; i++) {  // each row's candidates are sorted, so this is a merge
      if (taken[i] == choices[i].n) continue;
      const float sum = slot.row[i].sum_log_prob + choices[i].choice[taken[i]].log_prob;
      if (sum > best_sum) {
        best = i;
        best_sum = sum;
      }
    }
    if (best < 0) break;
    const Choice& choice = choices[best].choice[taken[best]++];
    if (choice.token != slot.rules.eot) {
      continue_row(slot, next, n_next, best, choice, best_sum);
    } else if (slot.n_finished < slot.max_finished) {
      finish_row(slot, best, best_sum, true);
    }
  }
  if (n_next > 0) end_step(slot, next, n_next);
  slot.done = slot.done || n_next == 0 || slot.n_finished >= slot.max_finished;
}

SOTTO_HOST_DEVICE void update_rows(SlotRows& slot, const Choices* choices, UpdateSpace& space) {
  if (choices_wanted(slot) == 1) {
    update_samples(slot, choices, space);
  } else {
    update_beams(slot, choices, space);
  }
}

// The tokens of a row after n_tokens steps, into out [n_tokens].
SOTTO_HOST_DEVICE void row_tokens(const SlotRows& slot, int n_tokens, int row, int32_t* out) {
  for (int step = n_tokens - 1; step >= 0; step--) {
    out[step] = slot.token[step][row];
    row = slot.parent[step][row];
  }
}

// Which row's memory holds the K/V of each position of a row's past: [rows][kTextContext]. After a step, row i goes on
// from `parent`, and writes position n_positions itself, if the context has it: a last token is never fed. So rows are
// reordered without moving K/V.
SOTTO_HOST_DEVICE void follow_parents(const SlotRows& slot, const uint8_t* before, uint8_t* after, int n_positions) {
  for (int i = 0; i < slot.n_live; i++) {
    const uint8_t* from = before + slot.parent[slot.n_sampled - 1][i] * kTextContext;
    uint8_t* to = after + i * kTextContext;
    for (int t = 0; t < n_positions; t++) to[t] = from[t];
    if (n_positions < kTextContext) to[n_positions] = static_cast<uint8_t>(i);
  }
}

// Finished rows that a beam search waits for. Computed in f32 and rounded half to even, so that beams and patience as
// decimal numbers give what the reference gets from them.
SOTTO_HOST_DEVICE int finished_wanted(int n_rows, float patience) {
  return static_cast<int>(rintf(static_cast<float>(n_rows) * patience));
}

}  // namespace sotto
