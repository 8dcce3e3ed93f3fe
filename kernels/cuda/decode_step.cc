#include "kernels/cuda/decode_step.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/shapes.h"
#include "models/error.h"

namespace sotto::cuda {
namespace {

class Parts {  // hands out memory, one part after the other
 public:
  explicit Parts(std::byte* base) : at_(base) {}
  template <class T>
  T* take(int64_t n) {
    return reinterpret_cast<T*>(std::exchange(at_, at_ + round_up(n * int64_t{sizeof(T)}, 256)));
  }
  void* halves(int64_t n) { return take<uint16_t>(n); }
  std::byte* end() const { return at_; }

 private:
  std::byte* at_;
};

int64_t lay_out(const DecoderPlan& plan, std::byte* base, DecoderBuffers& to) {
  const Dims& dims = plan.dims;
  const SpecialTokens special = special_tokens(dims.vocabulary);
  const int64_t width = dims.width, parts_of_row = width / kMomentValues, rows = kMaxStepRows;
  const int64_t self = int64_t{plan.slots} * dims.decoder_layers * plan.max_rows * kTextContext * width;
  Parts parts(base);
  to.slots = parts.take<SlotState>(plan.slots);
  to.rows = parts.take<SlotRows>(plan.slots);
  to.suppress = parts.take<uint32_t>(int64_t{plan.slots} * suppress_words(dims.vocabulary));
  to.where = parts.take<uint8_t>(int64_t{plan.slots} * plan.max_rows * kTextContext);
  to.self_k = parts.halves(self);
  to.self_v = parts.halves(self);
  to.table = parts.take<StepTable>(1);
  to.x = parts.take<float>(rows * width);
  to.operand = parts.halves(rows * width);
  to.q = parts.halves(rows * width);
  to.attended = parts.halves(rows * width);
  to.hidden = parts.halves(rows * 4 * width);
  to.moments = parts.take<Moments>(rows * parts_of_row);
  to.parts = parts.take<float>(rows * dims.heads * cross_splits(dims.heads) * kCrossPart);
  to.arrived = parts.take<uint32_t>(rows * dims.heads);
  to.scans.lists = logit_lists(dims.vocabulary, special.first_timestamp);
  to.scans.n_picks = plan.max_rows + 1;
  to.scans.masses = parts.take<Mass>(rows * to.scans.lists.n);
  to.scans.picks = parts.take<Pick>(rows * to.scans.n_picks * to.scans.lists.n);
  to.wanted_table = parts.take<StepTable>(1);
  to.wanted = parts.take<int32_t>(rows);
  to.next = parts.take<int32_t>(rows);
  to.wanted_operand = parts.halves(rows * width);
  to.wanted_moments = parts.take<Moments>(rows * parts_of_row);
  to.logits = parts.take<float>(rows * padded_vocabulary(dims.vocabulary));
  to.scores = parts.take<float>(int64_t{plan.alignment_heads} * rows * kRows);
  to.most_attended = parts.take<int32_t>(plan.slots);
  return parts.end() - base;
}

// The launches of one pass, one after the other.
class Pass {
 public:
  Pass(const Decoder& decoder, int row_class, int n_groups)
      : decoder_(decoder), dims_(decoder.plan.dims), row_class_(row_class), n_groups_(n_groups) {
    CHECK_INVARIANT(row_class >= 8 && row_class <= kMaxStepRows && n_groups >= 1 && n_groups <= kMaxStepRows);
  }

  // x, operand and moments of the rows. step: null where the host has written the table.
  void embed(const StepShape* step) {
    const DecoderBuffers& b = decoder_.buffers;
    const DecoderWeights& w = decoder_.weights;
    const EmbedArgs args = {b.table, b.slots, b.rows, step ? step->first_slot : 0, step ? step->n_slots : 0,
                            w.logits.tiles, w.logits.scale, w.positions, w.layers[0].attn_gain, b.x, b.operand,
                            b.moments};
    add(embed_kernel(step != nullptr, decoder_.plan.type, dims_.width), embed_shape(row_class_), args);
  }

  void layer(int l, const AlignmentHeads& alignment_heads) {
    const DecoderBuffers& b = decoder_.buffers;
    const DecoderLayerWeights& w = decoder_.weights.layers[l];
    const bool last = l + 1 == dims_.decoder_layers;
    const SelfMemory self = self_memory(l);
    qkv(w.qkv, 3 * dims_.width, self);
    add(self_attention_kernel(decoder_.plan.type), self_attention_shape(dims_.heads, row_class_),
        SelfAttentionArgs{b.table, b.q, self, b.where, b.attended});
    residual(SmallProduct::out, w.out, b.attended, w.cross_gain);
    qkv(w.cross_q, dims_.width, self);
    cross_attention(l, alignment_heads);
    residual(SmallProduct::out, w.cross_out, b.attended, w.mlp_gain);
    product(SmallProduct::fc1, 4 * dims_.width, dims_.width, Fc1Args{input(w.fc1, b.operand), norm(w.fc1), b.hidden});
    residual(SmallProduct::fc2, w.fc2, b.hidden, last ? decoder_.weights.gain : decoder_.weights.layers[l + 1].attn_gain);
  }

  void logits() {
    const SmallWeights& w = decoder_.weights.logits;
    const int rows = block_rows(row_class_);
    add(logits_kernel(decoder_.plan.type, dims_.width, row_class_),
        logits_shape(dims_.vocabulary, rows, row_class_ / rows),
        LogitsArgs{input(w, decoder_.buffers.operand), norm(w), decoder_.buffers.rows, decoder_.buffers.scans});
  }

  void most_attended(const StepShape& step, const AlignmentHeads& alignment_heads) {
    const DecoderBuffers& b = decoder_.buffers;
    const int heads = static_cast<int>(alignment_heads.size());
    add(kMostAttendedKernel, most_attended_shape(step.n_slots, heads),
        MostAttendedArgs{b.slots, step.first_slot, heads, b.scores, b.most_attended});
  }

  void choose(const StepShape& step, const int32_t* most_attended, SlotMail* mail) {
    const DecoderBuffers& b = decoder_.buffers;
    add(kChooseKernel, choose_shape(step.n_slots, b.scans.lists.n),
        ChooseArgs{b.slots, b.rows, b.where, decoder_.plan.max_rows, step.first_slot, b.scans, most_attended, mail});
  }

  template <class Args>
  void add(std::string kernel, const LaunchShape& shape, const Args& args) {
    launches_.push_back(launch_of(std::move(kernel), shape, args));
  }
  std::vector<Launch> take() { return std::move(launches_); }

 private:
  ProductInput input(const SmallWeights& w, const void* x) const {
    return {decoder_.buffers.table, w.tiles, w.scale, w.bias, x, row_class_ / block_rows(row_class_)};
  }
  NormInput norm(const SmallWeights& w) const { return {decoder_.buffers.moments, w.gain_sum}; }

  template <class Args>
  void product(SmallProduct what, int n, int k, const Args& args) {
    add(small_product_kernel(what, decoder_.plan.type, dims_.width, row_class_), small_product_shape(what, n, k, row_class_),
        args);
  }
  void qkv(const SmallWeights& w, int n, const SelfMemory& self) {
    product(SmallProduct::qkv, n, dims_.width,
            QkvArgs{input(w, decoder_.buffers.operand), norm(w), decoder_.buffers.q, self});
  }
  void residual(SmallProduct what, const SmallWeights& w, const void* x, const float* next_gain) {
    const DecoderBuffers& b = decoder_.buffers;
    product(what, dims_.width, what == SmallProduct::fc2 ? 4 * dims_.width : dims_.width,
            ResidualArgs{input(w, x), b.x, next_gain, b.operand, b.moments});
  }
  void cross_attention(int layer, const AlignmentHeads& alignment_heads) {
    const DecoderBuffers& b = decoder_.buffers;
    const int64_t of_layer = kHeadSize * dims_.heads, at = layer * of_layer;
    CrossAttentionArgs args = {b.table, b.q, static_cast<const uint16_t*>(decoder_.cross_k) + at,
                               static_cast<const uint16_t*>(decoder_.cross_v) + at, dims_.decoder_layers * of_layer,
                               b.parts, b.arrived, b.attended, b.scores, {}};
    std::fill_n(args.score_head, kMaxHeads, int8_t{-1});
    bool with_scores = false;
    for (size_t h = 0; h < alignment_heads.size(); h++) {
      if (alignment_heads[h].first != layer) continue;
      args.score_head[alignment_heads[h].second] = static_cast<int8_t>(h);
      with_scores = true;
    }
    add(cross_attention_kernel(decoder_.plan.type, with_scores, dims_.heads), cross_attention_shape(dims_.heads, n_groups_),
        args);
  }
  SelfMemory self_memory(int layer) const {
    const int64_t of_layer = int64_t{decoder_.plan.max_rows} * kTextContext * dims_.width;
    return {static_cast<uint16_t*>(decoder_.buffers.self_k) + layer * of_layer,
            static_cast<uint16_t*>(decoder_.buffers.self_v) + layer * of_layer, dims_.decoder_layers * of_layer,
            decoder_.plan.max_rows};
  }

  const Decoder& decoder_;
  const Dims& dims_;
  const int row_class_, n_groups_;
  std::vector<Launch> launches_;
};

}  // namespace

DecoderBuffers decoder_buffers(const DecoderPlan& plan, std::byte* base) {
  DecoderBuffers buffers;
  lay_out(plan, base, buffers);
  return buffers;
}

int64_t decoder_buffers_bytes(const DecoderPlan& plan) {
  DecoderBuffers buffers;
  return lay_out(plan, nullptr, buffers);
}

std::vector<Launch> step_launches(const Decoder& decoder, const StepShape& shape, SlotMail* mail,
                                  const AlignmentHeads& alignment_heads) {
  Pass pass(decoder, shape.row_class, shape.n_groups);
  pass.embed(&shape);
  for (int l = 0; l < decoder.plan.dims.decoder_layers; l++) pass.layer(l, alignment_heads);
  if (!alignment_heads.empty()) pass.most_attended(shape, alignment_heads);
  pass.logits();
  pass.choose(shape, alignment_heads.empty() ? nullptr : decoder.buffers.most_attended, mail);
  return pass.take();
}

std::vector<Launch> prompt_launches(const Decoder& decoder, int row_class, int n_groups,
                                    const AlignmentHeads& alignment_heads) {
  Pass pass(decoder, row_class, n_groups);
  pass.embed(nullptr);
  for (int l = 0; l < decoder.plan.dims.decoder_layers; l++) pass.layer(l, alignment_heads);
  return pass.take();
}

std::vector<Launch> wanted_launches(const Decoder& decoder, int n_rows, RowProbabilities* out) {
  const Dims& dims = decoder.plan.dims;
  const DecoderBuffers& b = decoder.buffers;
  const SmallWeights& w = decoder.weights.logits;
  const SpecialTokens special = special_tokens(dims.vocabulary);
  const int padded = padded_vocabulary(dims.vocabulary), row_blocks = static_cast<int>(ceil_div(n_rows, kRawRows));
  std::vector<Launch> launches;
  launches.push_back(launch_of(kGatherKernel, gather_shape(n_rows),
                               GatherArgs{b.wanted, dims.width, b.operand, b.moments, b.wanted_table, b.wanted_operand,
                                          b.wanted_moments}));
  const ProductInput input = {b.wanted_table, w.tiles, w.scale, w.bias, b.wanted_operand, row_blocks};
  launches.push_back(launch_of(raw_logits_kernel(decoder.plan.type, dims.width),
                               logits_shape(dims.vocabulary, kRawRows, row_blocks),
                               RawLogitsArgs{input, {b.wanted_moments, w.gain_sum}, b.logits, padded}));
  if (out) {
    const int n_languages = dims.multilingual() ? special.n_languages : 0;
    CHECK_INVARIANT(n_languages <= kMaxLanguages);
    launches.push_back(launch_of(kProbabilityKernel, probability_shape(n_rows),
                                 ProbabilityArgs{b.logits, padded, dims.vocabulary, special.eot, special.no_speech,
                                                 special.first_language, n_languages, b.next, out}));
  }
  return launches;
}

}  // namespace sotto::cuda
