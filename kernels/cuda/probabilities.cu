// What the start of a window and the alignment want of raw logits, so that these stay on the device.
//
// Contract: gather_rows copies the operands and moments of some rows, whose logits raw_logits then makes; probabilities
// reads a row of those logits twice, for the largest and for the sums of exp(logit - largest): over the vocabulary, over
// what is below end-of-transcript, and over the languages. One block for each row.
//
// Roofline: 8 bytes for each logit of a row, 415 KB, the second time from L2: 0.05 us of 4.8 TB/s a row, so for a few
// rows a launch's latency. Once for each window, not for each step. Not measured.
#include "kernels/cuda/logits.h"
#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {
namespace {

constexpr int kWarps = kProbabilityThreads / 32;

// Largest or sum over the block's threads, of three values at once; in all threads.
struct Three {
  float v[3];
};
template <class Combine>
DEVICE Three over_block(Three of, float* shared, const Combine& combine) {
  for (int i = 0; i < 3; i++) {
    for (int mask = 16; mask > 0; mask /= 2) of.v[i] = combine(of.v[i], shuffle_xor(of.v[i], mask));
    if (lane() == 0) store_shared(shared + warp() * 3 + i, of.v[i]);
  }
  sync_threads();
  for (int i = 0; i < 3; i++) {
    of.v[i] = load_shared(shared + i);
    for (int w = 1; w < kWarps; w++) of.v[i] = combine(of.v[i], load_shared(shared + w * 3 + i));
  }
  return of;
}

}  // namespace

KERNEL(probabilities, kProbabilityThreads, 1, ProbabilityArgs) {
  const int row = block_x();
  const float* logits = args.logits + int64_t{row} * args.padded;
  auto* shared = reinterpret_cast<float*>(shared_memory());
  const int last_language = args.first_language + args.n_languages;
  // Of all, of text and of languages.
  Three max = {{-INFINITY, -INFINITY, -INFINITY}}, sum = {};
  for (int t = thread(); t < args.vocabulary; t += kProbabilityThreads) {
    const float logit = load(logits + t);
    max.v[0] = fmaxf(max.v[0], logit);
    if (t < args.eot) max.v[1] = fmaxf(max.v[1], logit);
    if (t >= args.first_language && t < last_language) max.v[2] = fmaxf(max.v[2], logit);
  }
  max = over_block(max, shared, [](float a, float b) { return fmaxf(a, b); });
  for (int t = thread(); t < args.vocabulary; t += kProbabilityThreads) {
    const float logit = load(logits + t);
    sum.v[0] += expf(logit - max.v[0]);
    if (t < args.eot) sum.v[1] += expf(logit - max.v[1]);
    if (t >= args.first_language && t < last_language) sum.v[2] += expf(logit - max.v[2]);
  }
  sum = over_block(sum, shared + kWarps * 3, [](float a, float b) { return a + b; });
  RowProbabilities* out = args.out + row;
  if (thread() == 0) {
    const int next = load(args.next + row);
    store(&out->no_speech, expf(load(logits + args.no_speech) - max.v[0]) / sum.v[0]);
    store(&out->next, next < 0 || next >= args.eot ? 0.0f : expf(load(logits + next) - max.v[1]) / sum.v[1]);
  }
  for (int i = thread(); i < args.n_languages; i += kProbabilityThreads) {
    store(&out->language_log_probs[i], load(logits + args.first_language + i) - max.v[2] - logf(sum.v[2]));
  }
}

KERNEL(gather_rows, kProbabilityThreads, 1, GatherArgs) {
  const int from = load(args.rows + block_x()), to = block_x();
  if (to == 0 && thread() == 0) store(&args.to_table->n_rows, int32_t{grid_x()});
  const auto* operand = static_cast<const u32x4*>(args.operand) + from * args.width / 8;
  for (int i = thread(); i < args.width / 8; i += kProbabilityThreads) {
    store(static_cast<u32x4*>(args.to_operand) + to * args.width / 8 + i, load(operand + i));
  }
  const int parts = args.width / kMomentValues;
  for (int i = thread(); i < parts; i += kProbabilityThreads) {
    store(args.to_moments + to * parts + i, load(args.moments + from * parts + i));
  }
}

}  // namespace sotto::cuda
