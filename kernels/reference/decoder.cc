#include "kernels/reference/decoder.h"

#include <algorithm>

#include "kernels/reference/ops.h"

namespace sotto::reference {

Decoder::Decoder(const Model& model, Team& team, int max_rows, int capacity)
    : model_(model), team_(team), max_rows_(max_rows) {
  const int64_t width = model.dims.width;
  x_ = Floats(capacity * width);
  y_ = Floats(capacity * width);
  q_ = Floats(capacity * width);
  qkv_ = Floats(capacity * 3 * width);
  hidden_ = Floats(capacity * 4 * width);
  scratch_ = Floats(team.threads() * attention_scratch(kAudioContext));
}

SelfMemory Decoder::new_self_memory() const {
  const int64_t size = static_cast<int64_t>(model_.decoder.size()) * max_rows_ * kTextContext * model_.dims.width;
  return {Floats(size), Floats(size)};
}

const float* Decoder::forward(std::span<const DecoderRow> rows, std::span<SlotMemory> memory,
                              AlignmentScores* alignment, AttentionWatch* watch) {
  const int width = model_.dims.width, m = static_cast<int>(rows.size());
  float *x = x_.data(), *y = y_.data(), *hidden = hidden_.data();
  for (int i = 0; i < m; i++) {
    read_rows(model_.weights->token_embedding, rows[i].token, 1, x + int64_t{i} * width);
    const float* position = model_.decoder_positions.data() + int64_t{rows[i].position} * width;
    for (int j = 0; j < width; j++) x[int64_t{i} * width + j] += position[j];
  }
  for (size_t l = 0; l < model_.decoder.size(); l++) {
    const DecoderLayer& layer = model_.decoder[l];
    layer_norm(team_, layer.attn_ln, x, m, width, y);
    product(team_, layer.qkv, y, width, m, Then::store, qkv_.data());
    self_attention(l, rows, memory);
    product(team_, layer.out, y, width, m, Then::add, x);

    layer_norm(team_, layer.cross_attn_ln, x, m, width, y);
    product(team_, layer.cross_q, y, width, m, Then::store, q_.data());
    cross_attention(l, rows, memory, alignment, watch);
    product(team_, layer.cross_out, y, width, m, Then::add, x);

    layer_norm(team_, layer.mlp_ln, x, m, width, y);
    product(team_, layer.fc1, y, width, m, Then::gelu, hidden);
    product(team_, layer.fc2, hidden, 4 * width, m, Then::add, x);
  }
  layer_norm(team_, model_.decoder_ln, x, m, width, y);
  return y;
}

void Decoder::project(const float* hidden, int m, float* logits) {
  product(team_, model_.vocabulary, hidden, model_.dims.width, m, Then::store, logits);
}

// Keeps the rows' keys and values, then lets each look at its own past: y = attention(qkv).
void Decoder::self_attention(size_t layer, std::span<const DecoderRow> rows, std::span<SlotMemory> memory) {
  const int64_t width = model_.dims.width, row_size = kTextContext * width, first_row = layer * max_rows_;
  const int heads = model_.dims.heads, m = static_cast<int>(rows.size());
  for (int i = 0; i < m; i++) {
    const int64_t at = (first_row + rows[i].row) * row_size + rows[i].position * width;
    const float* qkv = qkv_.data() + i * 3 * width;
    std::copy_n(qkv + width, width, memory[rows[i].slot].self.keys.data() + at);
    std::copy_n(qkv + 2 * width, width, memory[rows[i].slot].self.values.data() + at);
  }
  team_.parallel_for(int64_t{m} * heads, 4, [&](int64_t first, int64_t last, int) {
    float scores[kTextContext];
    for (int64_t piece = first; piece < last; piece++) {
      const int64_t i = piece / heads, offset = piece % heads * kHead;
      const SelfMemory& self = memory[rows[i].slot].self;
      const int64_t base = first_row * row_size + offset;
      loops().attend_history(qkv_.data() + i * 3 * width + offset, self.keys.data() + base, self.values.data() + base,
                             rows[i].where, row_size, width, rows[i].position + 1,
                             scores, y_.data() + i * width + offset);
    }
  });
}

// The rows of each slot look at its window: y = attention(q).
void Decoder::cross_attention(size_t layer, std::span<const DecoderRow> rows, std::span<SlotMemory> memory,
                              AlignmentScores* alignment, AttentionWatch* watch) {
  const int64_t width = model_.dims.width;
  const int heads = model_.dims.heads, n_frames = alignment ? alignment->n_frames : kAudioContext;
  const bool watches = watch && watch->wants_any();
  std::vector<int> wanted_heads;
  std::vector<float*> wanted_out;
  std::vector<float> watched(watches ? model_.weights->alignment_heads.size() * rows.size() * n_frames : 0);
  const auto& all = model_.weights->alignment_heads;
  for (size_t h = 0; (alignment || watches) && h < all.size(); h++) {
    if (all[h].first != static_cast<int>(layer)) continue;
    wanted_heads.push_back(all[h].second);
    wanted_out.push_back(alignment ? alignment->qk.data() + (int64_t(h) * alignment->n_tokens + rows[0].position) * n_frames
                                   : watched.data() + h * rows.size() * n_frames);
  }
  const ScoresWanted wanted = {wanted_heads.data(), static_cast<int>(wanted_heads.size()), n_frames, wanted_out.data()};
  for (size_t first = 0, last; first < rows.size(); first = last) {
    for (last = first; last < rows.size() && rows[last].slot == rows[first].slot;) last++;
    const CrossMemory& cross = memory[rows[first].slot].cross;
    attention(team_, q_.data() + first * width, width, static_cast<int>(last - first),
              cross.keys.data() + layer * key_panels_size(heads, kAudioContext),
              cross.values.data() + layer * kAudioContext * width, width, heads, kAudioContext, scratch_.data(),
              wanted_heads.empty() ? nullptr : &wanted, y_.data() + first * width);
    for (const float* qk : wanted_out) {
      for (size_t i = first; watches && i < last; i++) {
        if (watch->wants(static_cast<int>(i))) watch->add(static_cast<int>(i), qk + (i - first) * n_frames);
      }
    }
  }
}

}  // namespace sotto::reference
