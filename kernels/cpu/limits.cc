#include "kernels/cpu/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "kernels/cpu/operand.h"

namespace sotto::cpu {
namespace {

constexpr int64_t kMultiplySteps = 50'000;          // about a millisecond
constexpr int64_t kReadFloats = int64_t{64} << 20;  // 256 MB: more than any last cache holds
constexpr int kMultiplyRounds = 40, kReadRounds = 6;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What all threads do a second, each `amount` in work(thread): the best of some rounds, since others that use the
// machine only ever slow it. Threads begin together, unless one doesn't come.
template <class Work>
double most_per_second(Team& team, int rounds, double amount, const Work& work) {
  double most = 0;
  for (int i = 0; i < rounds; i++) {
    const double deadline = now() + 0.01;
    std::atomic<int> arrived = 0;
    std::vector<double> seconds(team.threads());
    team.parallel_for(team.threads(), 1, [&](int64_t piece, int64_t, int) {
      arrived++;
      while (arrived < team.threads() && now() < deadline) {
      }
      const double start = now();
      work(static_cast<int>(piece));
      seconds[piece] = now() - start;
    });
    double rate = 0;
    for (const double of_thread : seconds) rate += amount / of_thread;
    most = std::max(most, rate);
  }
  return most;
}

double width_squared(const Dims& dims) { return double(dims.width) * dims.width; }

}  // namespace

Limits measure_limits(const Kernels& kernels, Team& team) {
  Limits limits;
  std::atomic<float> sink = 0;  // so that nothing is left out
  const std::vector<float> ones(kMultiplyFloats, 1e-3f);
  for (int type = 0; type < kTypes; type++) {
    if (!kernels.multiply[type]) continue;
    limits.multiply[type] =
        most_per_second(team, kMultiplyRounds, double(kMultiplySteps) * kernels.multiply_ops[type],
                        [&](int) { sink = kernels.multiply[type](kMultiplySteps, ones.data()); });
  }
  const Buffer<float> memory(kReadFloats);
  std::fill_n(memory.data(), kReadFloats, 1.0f);
  const int64_t part = kReadFloats / team.threads() / 128 * 128;
  limits.read = most_per_second(team, kReadRounds, 4.0 * double(part),
                                [&](int thread) { sink = kernels.read(memory + thread * part, part); });
  return limits;
}

Limits best_of(const Limits& a, const Limits& b) {
  Limits best = {.read = std::max(a.read, b.read)};
  for (int type = 0; type < kTypes; type++) best.multiply[type] = std::max(a.multiply[type], b.multiply[type]);
  return best;
}

Work encoder_part_work(const Dims& dims, const Types& types, EncoderPart part) {
  Work work;
  const double positions = kAudioContext, later = dims.encoder_layers - 1;
  const double square = 2 * positions * width_squared(dims);  // of a matrix [width][width]
  const auto of_attention = [&](int matrices) {  // beside attention, where the first layer has a type of its own
    work.ops[int(types.first_attention)] += matrices * square;
    work.ops[int(types.encoder)] += later * matrices * square;
  };
  switch (part) {
    case EncoderPart::convolutions:
      work.ops[int(Type::f32)] += 2 * kMelFrames * 3.0 * dims.mel_bins * dims.width;
      work.ops[int(types.encoder)] += 3 * square;
      break;
    case EncoderPart::qkv: of_attention(3); break;
    case EncoderPart::attention:
      work.ops[int(types.encoder_kv)] += dims.encoder_layers * 4 * positions * positions * dims.width;
      break;
    case EncoderPart::output: of_attention(1); break;
    case EncoderPart::fc1:
    case EncoderPart::fc2: work.ops[int(types.encoder)] += dims.encoder_layers * 4 * square; break;
    case EncoderPart::cross_kv: work.ops[int(types.encoder)] += dims.decoder_layers * 2 * square; break;
    case EncoderPart::packing:
    case EncoderPart::operands: break;
  }
  return work;
}

Work encoder_work(const Dims& dims, const Types& types) {
  Work all;
  for (int part = 0; part < kEncoderParts; part++) {
    const Work work = encoder_part_work(dims, types, EncoderPart(part));
    for (int type = 0; type < kTypes; type++) all.ops[type] += work.ops[type];
  }
  return all;
}

namespace {

// Rows that go through the decoder together, each beside `past` positions and a window; logits of some of them.
Work decoder_work(const Dims& dims, const Types& types, double rows, double logit_rows, double past) {
  Work work;
  const double layers = dims.decoder_layers * 14 * width_squared(dims), logits = double(dims.vocabulary) * dims.width;
  const double cross = 1.0 * dims.decoder_layers * kAudioContext * dims.width;  // keys, or values, of one window
  work.ops[int(types.decoder)] += 2 * (layers * rows + logits * logit_rows);
  work.ops[int(types.cross_kv)] += 4 * cross * rows;
  work.ops[int(Type::f32)] += 4.0 * dims.decoder_layers * past * dims.width * rows;
  return work;
}

double bytes_of(Type type) { return double(group_bytes(type)) / values_per_group(type); }

double decoder_bytes(const Dims& dims, const Types& types, int windows) {
  const double weights = dims.decoder_layers * 14 * width_squared(dims) + double(dims.vocabulary) * dims.width;
  const double cross = 1.0 * dims.decoder_layers * kAudioContext * dims.width;
  return weights * bytes_of(types.decoder) +
         windows * cross * 2 * bytes_of(types.cross_kv);
}

}  // namespace

Work step_work(const Dims& dims, const Types& types, int windows, int rows, int shared, int own) {
  Work work = decoder_work(dims, types, windows * rows, windows * rows, shared + own);
  const double positions = windows * (shared + double(rows) * own);
  work.bytes = decoder_bytes(dims, types, windows) +
               2.0 * dims.decoder_layers * positions * dims.width * bytes_of(types.self);
  return work;
}

Work prompt_work(const Dims& dims, const Types& types, int windows, int n) {
  Work work = decoder_work(dims, types, double(windows) * n, windows, n / 2.0);
  work.bytes = decoder_bytes(dims, types, windows);
  return work;
}

double least_seconds(const Work& work, const Limits& limits) {
  double seconds = 0;
  for (int type = 0; type < kTypes; type++)
    if (work.ops[type] > 0) seconds += work.ops[type] / limits.multiply[type];
  return std::max(seconds, work.bytes / limits.read);
}

}  // namespace sotto::cpu
