#include "kernels/cpu/decoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace sotto::cpu {
namespace {

constexpr int kTile = 1024;       // tokens whose logits stay in a thread's cache until they are scanned
constexpr int kTileStride = kTile + 16;  // floats from row to row: not a power of 2, or rows would share a cache's sets
constexpr int kScoreRows = 48;    // rows of one head whose scores a thread holds: they stay in its cache
constexpr int kAloneRows = 8;     // up to so many rows are normalised by one thread, sooner than others could help

int n_tiles(int tokens) { return (tokens + kTile - 1) / kTile; }

void mask(const Rules& rules, const Allowed& allowed, float* logits, int first, int last) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  if (rules.suppress) {
    for (int token = first; token < last; token = (token | 31) + 1) {
      const uint32_t word = rules.suppress[token >> 5];
      if (word == 0) continue;
      for (int i = token; i < std::min((token | 31) + 1, last); i++)
        if (word >> (i & 31) & 1) logits[i - first] = kNever;
    }
  }
  for (const int token : {kBlankToken, int(rules.eot), int(rules.no_timestamps)}) {
    if (token >= first && token < last && !may_follow(rules, allowed, token)) logits[token - first] = kNever;
  }
}

// The best of [first, last) when ranked with noise; `likely` is one of them. gumbel(bits) is at most ln 2 times the leading
// zeros of bits and one, which nearly always shows that a token can't be the best before two logarithms are taken.
void best_sample(const Ranking& ranking, const float* logits, int first, int last, int likely, Picks& picks) {
  constexpr float kLn2 = 0.6932f, kMost = 33 * kLn2;  // rounded up
  const auto consider = [&](int token, uint32_t bits) {
    keep_best(picks, 1, {logits[token] / ranking.temperature + gumbel(bits), logits[token], token});
  };
  const auto noise_of = [&](int four) {
    return philox(ranking.key, static_cast<uint32_t>(four), ranking.step, ranking.sample, 0);
  };
  consider(likely, noise_of(likely >> 2).word[likely & 3]);
  for (int token = first; token < last;) {
    const int end = std::min((token | 3) + 1, last);
    const float largest = *std::max_element(logits + token, logits + end);
    if (largest / ranking.temperature + kMost < picks.pick[0].rank) {
      token = end;
      continue;
    }
    const Philox noise = noise_of(token >> 2);
    for (; token < end; token++) {
      const uint32_t bits = noise.word[token & 3];
      const float most = kLn2 * static_cast<float>(std::countl_zero(bits) + 1);
      if (token != likely && logits[token] / ranking.temperature + most >= picks.pick[0].rank) consider(token, bits);
    }
  }
}

}  // namespace

SelfKv::SelfKv(const Dims& dims, Type type, int max_rows)
    : type(type),
      heads_(dims.heads),
      position_bytes_(kHead * group_bytes(type)),
      head_bytes_(max_rows * kTextContext * position_bytes_),
      keys_(head_bytes_ * heads_ * dims.decoder_layers, false),
      values_(head_bytes_ * heads_ * dims.decoder_layers, false) {}

Decoder::Decoder(const PackedModel& model, const Kernels& kernels, Team& team, int capacity, int step_rows)
    : model_(model),
      kernels_(kernels),
      team_(team),
      width_(model.dims.width),
      x_(int64_t(capacity) * width_),
      q_(int64_t(capacity) * width_),
      attended_(int64_t(capacity) * width_),
      out_(int64_t(capacity) * width_),
      qkv_(int64_t(capacity) * 3 * width_),
      hidden_(int64_t(capacity) * 4 * width_),
      normed_(int64_t(capacity) * width_),
      operand_(capacity, 4 * width_),
      operand_rest_(capacity, 4 * width_),
      step_rows_(step_rows) {
  for (int i = 0; i < team.threads(); i++) {
    scratch_.push_back({Buffer<float>(int64_t(step_rows) * kTileStride), OperandBuffer(kScoreRows, kHead),
                        Buffer<float>(kScoreRows * padded_keys(kAudioContext))});
  }
}

// Rows x, normalised where there is a norm, as the left side of products: prepared_. exactly: of int8, also what rounding
// takes from them.
void Decoder::prepare(Type type, const PackedNorm* norm, View x, int m, int width, Range range, bool exactly) {
  rest_ = {};
  if (!norm && operand_bytes(type) == 4) {
    prepared_ = {x.x, x.stride * 4, nullptr};
    return;
  }
  const bool with_rest = exactly && type == Type::i8;
  team_.parallel_for(m, std::max(kAloneRows, m / team_.threads()), [&](int64_t first, int64_t last, int) {
    Rows rows = operand_.rows(type, x, int(first), int(last - first), width);
    if (norm && with_rest) {
      Rows normed = rows;
      normed.out = normed_.data() + first * width_;
      normed.out_stride = width_ * 4;
      kernels_.norm[int(Type::f32)](normed, norm->weight, norm->bias);
      rows.x = normed_.data() + first * width_;
      rows.x_stride = width_;
    }
    if (with_rest) {
      kernels_.operand_and_rest(rows, operand_rest_.rows(type, x, int(first), int(last - first), width), range);
    } else if (norm) {
      kernels_.norm[int(type)](rows, norm->weight, norm->bias);
    } else {
      kernels_.operand[int(type)](rows, range);
    }
  });
  prepared_ = operand_.operand(type, width);
  if (with_rest) rest_ = operand_rest_.operand(type, width);
}

// Rows [first, first + rows) of what was prepared, times some panels: weights are read once, the second time from a cache.
void Decoder::product(const PackedLinear& linear, int first, int rows, Epilogue epilogue, View c, int first_panel,
                      int last_panel) const {
  const auto from = [&](Operand a) {
    a.a = static_cast<const char*>(a.a) + first * a.stride;
    if (a.scale) a.scale += int64_t(first) * scales_of(linear.k);
    return a;
  };
  Product product = product_of(linear, from(prepared_), rows, epilogue, c, kernels_.panel);
  const auto kernel = kernels_.product[int(linear.type)];
  if (!rest_.a) {
    product.first_panel = first_panel;
    product.last_panel = last_panel;
    return kernel(product);
  }
  Product rest = product_of(linear, from(rest_), rows, epilogue, c, kernels_.panel);
  if (epilogue == Epilogue::gelu) product.epilogue = Epilogue::store;
  rest.goes_on = epilogue != Epilogue::add;
  product.bias = rest.goes_on ? nullptr : linear.bias;
  rest.bias = rest.goes_on ? linear.bias : nullptr;
  for (int panel = first_panel; panel < last_panel; panel++) {
    product.first_panel = rest.first_panel = panel;
    product.last_panel = rest.last_panel = panel + 1;
    kernel(product);
    kernel(rest);
  }
}

void Decoder::linear(const PackedLinear& linear, const PackedNorm* norm, View x, int m, Epilogue epilogue, View c,
                     Range range) {
  prepare(linear.type, norm, x, m, linear.k, range, exactly_);
  const int panels = linear.panels(kernels_.panel);
  team_.parallel_for(panels, std::max(1, panels / (4 * team_.threads())), [&](int64_t first, int64_t last, int) {
    product(linear, 0, m, epilogue, c, int(first), int(last));
  });
}

// Steps wait for weights, so there the rest of operands costs little.
const float* Decoder::forward(Pass pass, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory,
                              AlignmentScores* alignment, AttentionWatch* watch) {
  exactly_ = pass == Pass::step;
  const int m = int(rows.size());
  const View x = {x_.data(), width_}, q = {q_.data(), width_}, attended = {attended_.data(), width_};
  const View qkv = {qkv_.data(), 3 * width_}, hidden = {hidden_.data(), 4 * width_};
  for (int i = 0; i < m; i++) {
    read_rows(model_.weights->token_embedding, rows[i].token, 1, x.row(i));
    const float* position = model_.decoder_positions + int64_t(rows[i].position) * width_;
    for (int j = 0; j < width_; j++) x.row(i)[j] += position[j];
  }
  group(rows);
  for (int l = 0; l < model_.dims.decoder_layers; l++) {
    const PackedDecoderBlock& block = model_.decoder[l];
    linear(block.qkv, &block.attn_ln, x, m, Epilogue::store, qkv);
    self_attention(l, rows, memory);
    linear(block.out, nullptr, attended, m, Epilogue::add, x);

    linear(block.cross_q, &block.cross_attn_ln, x, m, Epilogue::store, q);
    if (alignment) alignment_scores(l, rows, memory[rows[0].slot].cross, *alignment);
    if (watch && watch->wants_any()) watch_scores(l, rows, memory, *watch);
    cross_attention(l, memory);
    linear(block.cross_out, nullptr, attended, m, Epilogue::add, x);

    linear(block.fc1, &block.mlp_ln, x, m, Epilogue::gelu, hidden);
    linear(block.fc2, nullptr, hidden, m, Epilogue::add, x, Range::gelu);
  }
  Rows last;
  last.x = x.x;
  last.x_stride = last.width = width_;
  last.rows = m;
  last.out = out_.data();
  last.out_stride = width_ * 4;
  kernels_.norm[int(Type::f32)](last, model_.decoder_ln.weight, model_.decoder_ln.bias);
  return out_.data();
}

// Rows of a slot look at its window and at their past together, so that what they share is read once.
void Decoder::group(std::span<const DecoderRow> rows) {
  groups_.clear();
  for (int i = 0; i < int(rows.size()); i++) {
    if (groups_.empty() || groups_.back().slot != rows[i].slot) groups_.push_back({rows[i].slot, i, 0});
    groups_.back().rows++;
  }
}

// Keeps the rows' keys and values, then lets each look at its own past.
void Decoder::self_attention(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory) {
  const int heads = model_.dims.heads;
  team_.parallel_for(int64_t(groups_.size()) * heads, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const Group& group = groups_[piece / heads];
      const SelfKv& self = memory[group.slot].self;
      const int head = int(piece % heads);
      char *keys = self.keys(layer, head), *values = self.values(layer, head);
      for (int i = group.first; i < group.first + group.rows; i++) {
        const float* qkv = qkv_ + 3 * i * width_ + head * kHead;
        const int64_t at = self.offset(rows[i].row, rows[i].position);
        kernels_.store_past[int(self.type)](qkv + width_, keys + at);
        kernels_.store_past[int(self.type)](qkv + 2 * width_, values + at);
        kernels_.past_attention[int(self.type)]({qkv, keys, values, rows[i].where, rows[i].position + 1,
                                                 attended_ + i * width_ + head * kHead});
      }
    }
  });
}

void Decoder::cross_attention(int layer, std::span<const SlotMemory> memory) {
  const int heads = model_.dims.heads;
  team_.parallel_for(int64_t(groups_.size()) * heads, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const Group& group = groups_[piece / heads];
      const int head = int(piece % heads);
      const HeadKv& cross = memory[group.slot].cross;
      for (int i = 0; i < group.rows; i += kAttentionRows) {
        const int64_t at = int64_t(group.first + i) * width_ + head * kHead;
        kernels_.attention[int(cross.type)]({q_ + at, width_,
                                                                        std::min(kAttentionRows, group.rows - i),
                                                                        cross.keys(layer, head), cross.values(layer, head),
                                                                        kAudioContext, attended_ + at, width_});
      }
    }
  });
}

// q kT of one head, [rows][padded keys], for up to kScoreRows rows from `first` on; in the thread's scratch.
View Decoder::scores_of_head(int layer, int head, const HeadKv& cross, int first, int rows, int thread) const {
  const int keys = padded_keys(kAudioContext);
  const Type type = cross.type;
  const ThreadScratch& scratch = scratch_[thread];
  const View q = {q_ + int64_t(first) * width_ + head * kHead, width_}, scores = {scratch.scores.data(), keys};
  Operand a = {q.x, q.stride * 4, nullptr};
  if (operand_bytes(type) != 4) {
    kernels_.operand[int(type)](scratch.q.rows(type, q, 0, rows, kHead), Range::symmetric);
    a = scratch.q.operand(type, kHead);
  }
  PackedLinear packed = {type, keys, kHead, cross.keys(layer, head)};
  packed.b_scale = reinterpret_cast<float*>(packed.b + int64_t(keys) * kHead);  // of int8 ones
  packed.b_start = reinterpret_cast<int32_t*>(packed.b_scale + keys);
  kernels_.product[int(type)](product_of(packed, a, rows, Epilogue::store, scores, kernels_.panel));
  return scores;
}

// q kT / 8 of the layer's alignment heads.
void Decoder::alignment_scores(int layer, std::span<const DecoderRow> rows, const HeadKv& cross,
                               AlignmentScores& alignment) {
  const auto& wanted = model_.weights->alignment_heads;
  const int blocks = (int(rows.size()) + kScoreRows - 1) / kScoreRows;
  team_.parallel_for(int64_t(wanted.size()) * blocks, 1, [&](int64_t from, int64_t to, int thread) {
    for (int64_t piece = from; piece < to; piece++) {
      const int64_t h = piece / blocks;
      if (wanted[h].first != layer) continue;
      const int first = int(piece % blocks) * kScoreRows, count = std::min(kScoreRows, int(rows.size()) - first);
      const View scores = scores_of_head(layer, wanted[h].second, cross, first, count, thread);
      for (int i = 0; i < count; i++) {
        float* out = alignment.qk.data() + (h * alignment.n_tokens + rows[first + i].position) * alignment.n_frames;
        for (int f = 0; f < alignment.n_frames; f++) out[f] = scores.row(i)[f] / 8;
      }
    }
  });
}

void Decoder::watch_scores(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory,
                           AttentionWatch& watch) {
  for (const auto& [of_layer, head] : model_.weights->alignment_heads) {
    if (of_layer != layer) continue;
    for (int i = 0; i < int(rows.size()); i++) {
      if (!watch.wants(i)) continue;
      float* scores = scores_of_head(layer, head, memory[rows[i].slot].cross, i, 1, 0).x;
      for (int f = 0; f < kAudioContext; f++) scores[f] /= 8;
      watch.add(i, scores);
    }
  }
}

int Decoder::tile_panels() const { return kTile / kernels_.panel; }

// Logits of a tile's tokens for rows [first, first + rows) of what was prepared, in the thread's scratch: [rows][kTile].
View Decoder::logits_of_tile(int tile, int first, int rows, int thread) const {
  const View logits = {scratch_[thread].logits.data(), kTileStride};
  const int panel = tile * tile_panels(), panels = model_.logits.panels(kernels_.panel);
  product(model_.logits, first, rows, Epilogue::store, {logits.x - int64_t(tile) * kTile, logits.stride}, panel,
          std::min(panels, panel + tile_panels()));
  return logits;
}

void Decoder::project(const float* hidden, int m, float* logits) {
  const int vocabulary = model_.dims.vocabulary;
  prepare(model_.logits.type, nullptr, {const_cast<float*>(hidden), width_}, m, width_, Range::symmetric, true);
  team_.parallel_for(n_tiles(vocabulary), 1, [&](int64_t from, int64_t to, int thread) {
    for (int64_t tile = from; tile < to; tile++) {
      const int64_t token = tile * kTile, n = std::min<int64_t>(kTile, vocabulary - token);
      const View of_tile = logits_of_tile(int(tile), 0, m, thread);
      for (int i = 0; i < m; i++) std::memcpy(logits + i * int64_t(vocabulary) + token, of_tile.row(i), sizeof(float) * n);
    }
  });
}

// A tile's weights stay in the second cache while all rows pass over them; its logits are scanned where they are.
void Decoder::token_probs(const float* hidden, int m, std::span<const int> targets, int limit, float* probs) {
  const int tiles = n_tiles(limit);
  std::vector<LogitScan> sums(int64_t(tiles) * m);
  std::vector<float> target(m);
  prepare(model_.logits.type, nullptr, {const_cast<float*>(hidden), width_}, m, width_, Range::symmetric, true);
  team_.parallel_for(tiles, 1, [&](int64_t from, int64_t to, int thread) {
    int32_t places[kTile];
    for (int64_t tile = from; tile < to; tile++) {
      const int token = int(tile) * kTile, n = std::min(kTile, limit - token);
      for (int first = 0; first < m; first += step_rows_) {
        const int rows = std::min(step_rows_, m - first);
        const View logits = logits_of_tile(int(tile), first, rows, thread);
        for (int i = 0; i < rows; i++) {
          const int row = first + i, place = targets[row] - token;
          sums[tile * m + row] = kernels_.scan(logits.row(i), n, 1, places);
          if (place >= 0 && place < n) target[row] = logits.row(i)[place];
        }
      }
    }
  });
  for (int i = 0; i < m; i++) {
    float peak = sums[i].max;
    for (int tile = 1; tile < tiles; tile++) peak = std::max(peak, sums[int64_t(tile) * m + i].max);
    double sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
      const LogitScan& part = sums[int64_t(tile) * m + i];
      sum += double(part.sum) * std::exp(double(part.max) - peak);
    }
    probs[i] = targets[i] < limit ? float(std::exp(double(target[i]) - peak) / sum) : 0;
  }
}

// What scan_part() finds, faster: in whole vectors, and looking closer only at what can be among the best.
void Decoder::scan_tile(const SlotRows& slot, int row, float* logits, int first, int last, Scan& scan) const {
  const Allowed allowed = allowed_next(slot.rules, slot.row[row]);
  const int limit = choices_wanted(slot);
  clear_scan(scan);
  mask(slot.rules, allowed, logits, first, last);
  const auto range = [&](int from, int to, Mass& mass, Picks& picks) {
    from = std::max(from, first);
    to = std::min(to, last);
    if (from >= to) return;
    int32_t places[kTile];
    const float* x = logits + (from - first);
    const LogitScan found = kernels_.scan(x, to - from, limit, places);
    mass = {found.max, found.sum};
    if (slot.temperature > 0) {
      if (found.n_places > 0) best_sample(ranking_of(slot, row), x - from, from, to, from + places[0], picks);
      return;
    }
    for (int i = 0; i < found.n_places; i++) keep_best(picks, limit, {x[places[i]], x[places[i]], from + places[i]});
  };
  range(allowed.text_begin, slot.rules.first_timestamp, scan.text, scan.best_text);
  range(allowed.timestamp_begin, allowed.timestamp_end, scan.timestamps, scan.best_timestamps);
}

void Decoder::choose(const float* hidden, int m, std::span<const StepRow> rows,
                     const std::function<const SlotRows&(int slot)>& slot_rows, std::span<Choices> choices) {
  const int vocabulary = model_.dims.vocabulary, tiles = n_tiles(vocabulary);
  prepare(model_.logits.type, nullptr, {const_cast<float*>(hidden), width_}, m, width_, Range::symmetric, true);
  scans_.resize(rows.size() * tiles);
  team_.parallel_for(tiles, 1, [&](int64_t from, int64_t to, int thread) {
    for (int64_t tile = from; tile < to; tile++) {
      const int first = int(tile) * kTile, last = std::min(first + kTile, vocabulary);
      const View logits = logits_of_tile(int(tile), 0, m, thread);
      for (size_t i = 0; i < rows.size(); i++) {
        scan_tile(slot_rows(rows[i].slot), rows[i].row, logits.row(rows[i].hidden), first, last,
                  scans_[i * tiles + tile]);
      }
    }
  });
  team_.parallel_for(int64_t(rows.size()), kAloneRows, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; i++) {
      const SlotRows& slot = slot_rows(rows[i].slot);
      Scan& all = scans_[i * tiles];
      for (int tile = 1; tile < tiles; tile++) merge_scans(all, scans_[i * tiles + tile], choices_wanted(slot));
      sotto::choose(slot.rules, all, choices_wanted(slot), choices[i]);
    }
  });
}

}  // namespace sotto::cpu
