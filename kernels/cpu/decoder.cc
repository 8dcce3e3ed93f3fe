#include "kernels/cpu/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace sotto::cpu {
namespace {

constexpr int kTile = 1024;       // tokens whose logits stay in a thread's cache until they are scanned
constexpr int kTileStride = kTile + 16;  // floats from row to row: not a power of 2, or rows would share a cache's sets
constexpr int kAloneRows = 8;     // up to so many rows are normalised by one thread, sooner than others could help

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
      operand_(capacity, 4 * width_) {
  for (int i = 0; i < team.threads(); i++) tiles_.emplace_back(int64_t(step_rows) * kTileStride);
}

// Rows x, normalised where there is a norm, as the left side of products: prepared_.
void Decoder::prepare(Type type, const PackedNorm* norm, View x, int m, int width, Range range) {
  if (!norm && operand_bytes(type) == 4) {
    prepared_ = {x.x, x.stride * 4, nullptr};
    return;
  }
  team_.parallel_for(m, std::max(kAloneRows, m / team_.threads()), [&](int64_t first, int64_t last, int) {
    const Rows rows = operand_.rows(type, x, int(first), int(last - first), width);
    if (norm) {
      kernels_.norm[int(type)](rows, norm->weight, norm->bias);
    } else {
      kernels_.operand[int(type)](rows, range);
    }
  });
  prepared_ = operand_.operand(type, width);
}

void Decoder::linear(const PackedLinear& linear, const PackedNorm* norm, View x, int m, Epilogue epilogue, View c,
                     Range range) {
  prepare(linear.type, norm, x, m, linear.k, range);
  const int panels = linear.panels(kernels_.panel);
  team_.parallel_for(panels, std::max(1, panels / (4 * team_.threads())), [&](int64_t first, int64_t last, int) {
    Product product = product_of(linear, prepared_, m, epilogue, c, kernels_.panel);
    product.first_panel = int(first);
    product.last_panel = int(last);
    kernels_.product[int(linear.type)](product);
  });
}

const float* Decoder::forward(std::span<const DecoderRow> rows, std::span<const SlotMemory> memory,
                              AlignmentScores* alignment, AttentionWatch* watch) {
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
        kernels_.attention[int(cross.key_type)][int(cross.value_type)]({q_ + at, width_,
                                                                        std::min(kAttentionRows, group.rows - i),
                                                                        cross.keys(layer, head), cross.values(layer, head),
                                                                        kAudioContext, attended_ + at, width_});
      }
    }
  });
}

// scores [rows][padded keys]: q kT of one head, for rows from `first` on.
void Decoder::scores_of_head(int layer, int head, const HeadKv& cross, int first, int rows, float* scores) {
  const int keys = padded_keys(kAudioContext);
  prepare(cross.key_type, nullptr, {q_ + int64_t(first) * width_ + head * kHead, width_}, rows, kHead, Range::symmetric);
  Product product;
  product.a = prepared_.a;
  product.a_stride = prepared_.stride;
  product.a_scale = prepared_.scale;
  product.a_scale_stride = 1;
  product.rows = rows;
  product.b = cross.keys(layer, head);
  product.groups = kHead / values_per_group(cross.key_type);
  product.b_panel_bytes = int64_t(product.groups) * kernels_.panel * group_bytes(cross.key_type);
  product.last_panel = keys / kernels_.panel;
  product.b_scale = reinterpret_cast<const float*>(static_cast<const char*>(product.b) + int64_t(keys) * kHead);
  product.b_start = reinterpret_cast<const int32_t*>(product.b_scale + keys);
  product.b_stride = keys;
  product.c = scores;
  product.c_stride = keys;
  kernels_.product[int(cross.key_type)](product);
}

// q kT / 8 of the layer's alignment heads.
void Decoder::alignment_scores(int layer, std::span<const DecoderRow> rows, const HeadKv& cross,
                               AlignmentScores& alignment) {
  const int m = int(rows.size()), keys = padded_keys(kAudioContext);
  const Buffer<float> scores(int64_t(m) * keys);
  const auto& wanted = model_.weights->alignment_heads;
  for (size_t h = 0; h < wanted.size(); h++) {
    if (wanted[h].first != layer) continue;
    scores_of_head(layer, wanted[h].second, cross, 0, m, scores.data());
    for (int i = 0; i < m; i++) {
      float* out = alignment.qk.data() + (int64_t(h) * alignment.n_tokens + rows[i].position) * alignment.n_frames;
      for (int f = 0; f < alignment.n_frames; f++) out[f] = scores.data()[int64_t(i) * keys + f] / 8;
    }
  }
}

void Decoder::watch_scores(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory,
                           AttentionWatch& watch) {
  float scores[padded_keys(kAudioContext)];
  for (const auto& [of_layer, head] : model_.weights->alignment_heads) {
    if (of_layer != layer) continue;
    for (int i = 0; i < int(rows.size()); i++) {
      if (!watch.wants(i)) continue;
      scores_of_head(layer, head, memory[rows[i].slot].cross, i, 1, scores);
      for (int f = 0; f < kAudioContext; f++) scores[f] /= 8;
      watch.add(i, scores);
    }
  }
}

int Decoder::tile_panels() const { return kTile / kernels_.panel; }

void Decoder::project(const float* hidden, int m, float* logits) {
  const int vocabulary = model_.dims.vocabulary, panels = model_.logits.panels(kernels_.panel);
  prepare(model_.logits.type, nullptr, {const_cast<float*>(hidden), width_}, m, width_, Range::symmetric);
  team_.parallel_for(panels, tile_panels(), [&](int64_t first, int64_t last, int thread) {
    for (int64_t from = first; from < last; from += tile_panels()) {
      const int token = int(from) * kernels_.panel, n = std::min(kTile, vocabulary - token);
      Product product = product_of(model_.logits, prepared_, m, Epilogue::store, {tiles_[thread] + -token, kTileStride},
                                   kernels_.panel);
      product.first_panel = int(from);
      product.last_panel = int(std::min<int64_t>(last, from + tile_panels()));
      kernels_.product[int(model_.logits.type)](product);
      for (int i = 0; i < m; i++)
        std::memcpy(logits + int64_t(i) * vocabulary + token, tiles_[thread] + i * kTileStride, sizeof(float) * n);
    }
  });
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
  const int vocabulary = model_.dims.vocabulary, panels = model_.logits.panels(kernels_.panel);
  const int tiles = (panels + tile_panels() - 1) / tile_panels();
  prepare(model_.logits.type, nullptr, {const_cast<float*>(hidden), width_}, m, width_, Range::symmetric);
  scans_.resize(rows.size() * tiles);
  team_.parallel_for(tiles, 1, [&](int64_t from, int64_t to, int thread) {
    for (int64_t tile = from; tile < to; tile++) {
      const int first = int(tile) * kTile, last = std::min(first + kTile, vocabulary);
      Product product = product_of(model_.logits, prepared_, m, Epilogue::store, {tiles_[thread] + -first, kTileStride},
                                   kernels_.panel);
      product.first_panel = int(tile) * tile_panels();
      product.last_panel = std::min(panels, product.first_panel + tile_panels());
      kernels_.product[int(model_.logits.type)](product);
      for (size_t i = 0; i < rows.size(); i++) {
        scan_tile(slot_rows(rows[i].slot), rows[i].row, tiles_[thread] + rows[i].hidden * kTileStride, first, last,
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
