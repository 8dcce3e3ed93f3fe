#include "kernels/cpu/decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sotto::cpu {
namespace {

constexpr int kTile = 1024;       // tokens whose logits stay in a thread's cache until they are scanned
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

}  // namespace

SelfKv::SelfKv(const Dims& dims, int max_rows)
    : keys(int64_t(dims.decoder_layers) * max_rows * kTextContext * dims.width, false),
      values(int64_t(dims.decoder_layers) * max_rows * kTextContext * dims.width, false) {}

Decoder::Decoder(const PackedModel& model, const Kernels& kernels, Team& team, int max_rows, int capacity, int step_rows)
    : model_(model),
      kernels_(kernels),
      team_(team),
      width_(model.dims.width),
      max_rows_(max_rows),
      x_(int64_t(capacity) * width_),
      q_(int64_t(capacity) * width_),
      attended_(int64_t(capacity) * width_),
      out_(int64_t(capacity) * width_),
      qkv_(int64_t(capacity) * 3 * width_),
      hidden_(int64_t(capacity) * 4 * width_),
      operand_(capacity, 4 * width_) {
  for (int i = 0; i < team.threads(); i++) tiles_.emplace_back(int64_t(step_rows) * kTile);
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
                              AlignmentScores* alignment) {
  const int m = int(rows.size());
  const View x = {x_.data(), width_}, q = {q_.data(), width_}, attended = {attended_.data(), width_};
  const View qkv = {qkv_.data(), 3 * width_}, hidden = {hidden_.data(), 4 * width_};
  for (int i = 0; i < m; i++) {
    read_rows(model_.weights->token_embedding, rows[i].token, 1, x.row(i));
    const float* position = model_.decoder_positions + int64_t(rows[i].position) * width_;
    for (int j = 0; j < width_; j++) x.row(i)[j] += position[j];
  }
  for (int l = 0; l < model_.dims.decoder_layers; l++) {
    const PackedDecoderBlock& block = model_.decoder[l];
    linear(block.qkv, &block.attn_ln, x, m, Epilogue::store, qkv);
    self_attention(l, rows, memory);
    linear(block.out, nullptr, attended, m, Epilogue::add, x);

    linear(block.cross_q, &block.cross_attn_ln, x, m, Epilogue::store, q);
    if (alignment) alignment_scores(l, rows, memory[rows[0].slot].cross, *alignment);
    cross_attention(l, rows, memory);
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

// Keeps the rows' keys and values, then lets each look at its own past.
void Decoder::self_attention(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory) {
  const int64_t row_size = int64_t(kTextContext) * width_, base = int64_t(layer) * max_rows_ * row_size;
  for (size_t i = 0; i < rows.size(); i++) {
    const int64_t at = base + rows[i].row * row_size + int64_t(rows[i].position) * width_;
    const SelfKv& self = memory[rows[i].slot].self;
    std::memcpy(self.keys + at, qkv_ + (3 * i + 1) * width_, sizeof(float) * width_);
    std::memcpy(self.values + at, qkv_ + (3 * i + 2) * width_, sizeof(float) * width_);
  }
  const int heads = model_.dims.heads;
  team_.parallel_for(int64_t(rows.size()) * heads, 4, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const int64_t i = piece / heads, offset = piece % heads * kHead;
      const SelfKv& self = memory[rows[i].slot].self;
      kernels_.past_attention({qkv_ + 3 * i * width_ + offset, self.keys + base + offset, self.values + base + offset,
                               width_, rows[i].where, rows[i].position + 1, attended_ + i * width_ + offset});
    }
  });
}

// All rows of a slot look at its window together, so that its keys and values are read once.
void Decoder::cross_attention(int layer, std::span<const DecoderRow> rows, std::span<const SlotMemory> memory) {
  struct Group {
    int slot, first, rows;
  };
  std::vector<Group> groups;
  for (int i = 0; i < int(rows.size()); i++) {
    if (groups.empty() || groups.back().slot != rows[i].slot || groups.back().rows == kAttentionRows)
      groups.push_back({rows[i].slot, i, 0});
    groups.back().rows++;
  }
  const int heads = model_.dims.heads;
  team_.parallel_for(int64_t(groups.size()) * heads, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t piece = first; piece < last; piece++) {
      const Group& group = groups[piece / heads];
      const int head = int(piece % heads);
      const HeadKv& cross = memory[group.slot].cross;
      const int64_t at = int64_t(group.first) * width_ + head * kHead;
      kernels_.attention[int(cross.key_type)][int(cross.value_type)]({q_ + at, width_, group.rows,
                                                                      cross.keys(layer, head), cross.values(layer, head),
                                                                      kAudioContext, attended_ + at, width_});
    }
  });
}

// q kT / 8 of the layer's alignment heads.
void Decoder::alignment_scores(int layer, std::span<const DecoderRow> rows, const HeadKv& cross,
                               AlignmentScores& alignment) {
  const int m = int(rows.size()), keys = padded_keys(kAudioContext);
  const Buffer<float> scores(int64_t(m) * keys);
  const auto& wanted = model_.weights->alignment_heads;
  for (size_t h = 0; h < wanted.size(); h++) {
    if (wanted[h].first != layer) continue;
    prepare(cross.key_type, nullptr, {q_ + wanted[h].second * kHead, width_}, m, kHead, Range::symmetric);
    Product product;
    product.a = prepared_.a;
    product.a_stride = prepared_.stride;
    product.a_scale = prepared_.scale;
    product.a_scale_stride = 1;
    product.rows = m;
    product.b = cross.keys(layer, wanted[h].second);
    product.groups = kHead / values_per_group(cross.key_type);
    product.last_panel = keys / kernels_.panel;
    product.b_scale = reinterpret_cast<const float*>(static_cast<const char*>(product.b) + int64_t(keys) * kHead);
    product.b_start = reinterpret_cast<const int32_t*>(product.b_scale + keys);
    product.b_stride = keys;
    product.c = scores.data();
    product.c_stride = keys;
    kernels_.product[int(cross.key_type)](product);
    for (int i = 0; i < m; i++) {
      float* out = alignment.qk.data() + (int64_t(h) * alignment.n_tokens + rows[i].position) * alignment.n_frames;
      for (int f = 0; f < alignment.n_frames; f++) out[f] = scores.data()[int64_t(i) * keys + f] / 8;
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
      Product product = product_of(model_.logits, prepared_, m, Epilogue::store, {tiles_[thread] + -token, kTile},
                                   kernels_.panel);
      product.first_panel = int(from);
      product.last_panel = int(std::min<int64_t>(last, from + tile_panels()));
      kernels_.product[int(model_.logits.type)](product);
      for (int i = 0; i < m; i++)
        std::memcpy(logits + int64_t(i) * vocabulary + token, tiles_[thread] + i * kTile, sizeof(float) * n);
    }
  });
}

// What scan_part() finds, faster: in whole vectors, and looking closer only at what beats the picks so far.
void Decoder::scan_tile(const SlotRows& slot, int row, float* logits, int first, int last, Scan& scan) const {
  const Allowed allowed = allowed_next(slot.rules, slot.row[row]);
  const int limit = choices_wanted(slot);
  clear_scan(scan);
  if (slot.temperature > 0) {
    scan_part(slot.rules, allowed, ranking_of(slot, row), logits - first, first, last, limit, scan);
    return;
  }
  mask(slot.rules, allowed, logits, first, last);
  const auto range = [&](int from, int to, Mass& mass, Picks& picks) {
    from = std::max(from, first);
    to = std::min(to, last);
    if (from >= to) return;
    const LogitScan found = kernels_.scan(logits + (from - first), to - from);
    mass = {found.max, found.sum};
    constexpr int kChunk = 128, kFirstChunk = 16;  // few, since all of the first are looked at
    int32_t places[kChunk];
    for (int chunk = from, size = kFirstChunk; chunk < to; chunk += size, size = kChunk) {
      const float worst = picks.n < limit ? -std::numeric_limits<float>::infinity() : picks.pick[limit - 1].rank;
      const float* x = logits + (chunk - first);
      const int n = kernels_.above(x, std::min(size, to - chunk), worst, places, kChunk);
      for (int i = 0; i < n; i++) keep_best(picks, limit, {x[places[i]], x[places[i]], chunk + places[i]});
    }
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
      Product product = product_of(model_.logits, prepared_, m, Epilogue::store, {tiles_[thread] + -first, kTile},
                                   kernels_.panel);
      product.first_panel = int(tile) * tile_panels();
      product.last_panel = std::min(panels, product.first_panel + tile_panels());
      kernels_.product[int(model_.logits.type)](product);
      for (size_t i = 0; i < rows.size(); i++) {
        scan_tile(slot_rows(rows[i].slot), rows[i].row, tiles_[thread] + rows[i].hidden * kTile, first, last,
                  scans_[i * tiles + tile]);
      }
    }
  });
  for (size_t i = 0; i < rows.size(); i++) {
    const SlotRows& slot = slot_rows(rows[i].slot);
    Scan& all = scans_[i * tiles];
    for (int tile = 1; tile < tiles; tile++) merge_scans(all, scans_[i * tiles + tile], choices_wanted(slot));
    sotto::choose(slot.rules, all, choices_wanted(slot), choices[i]);
  }
}

}  // namespace sotto::cpu
