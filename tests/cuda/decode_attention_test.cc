// The decoder's attentions against softmax in double precision over the same rounded queries, keys and values.
#include "kernels/cuda/decode_attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/decoder_data.h"
#include "cuda/device.h"
#include "kernels/cuda/shapes.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

constexpr WeightType kOperands[] = {WeightType::f16, WeightType::bf16};

// Probabilities, results and values are rounded to 11 (bf16: 8) bits.
double bound(WeightType type) { return type == WeightType::bf16 ? 6e-3 : 8e-4; }

// out [64] += softmax(scores) values; scores are of base 2.
template <class Value>
void attend(const std::vector<double>& scores, const Value& value_of, std::vector<float>& out) {
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0, result[kHead] = {};
  for (size_t t = 0; t < scores.size(); t++) {
    const double p = std::exp2(scores[t] - max);
    sum += p;
    for (int d = 0; d < kHead; d++) result[d] += p * value_of(int(t), d);
  }
  for (double value : result) out.push_back(float(value / sum));
}

void check_self(WeightType type, int heads, const std::vector<TableRow>& rows, bool all_schedules) {
  constexpr int kSlots = 3, kSlotRows = 5;
  const int width = heads * kHead, n = int(rows.size());
  const int64_t of_slot = int64_t{heads} * kSlotRows * kTextContext * kHead;
  const Halves q = halves(normal(size_t(kMaxStepRows) * width, 1, 0.4f), type);
  const Halves keys = halves(normal(kSlots * of_slot, 2, 1), type), values = halves(normal(kSlots * of_slot, 3, 1), type);
  std::vector<uint8_t> where(kSlots * kSlotRows * kTextContext);
  std::mt19937 random(4);
  for (uint8_t& of : where) of = random() % kSlotRows;
  StepTable table = {};
  table.n_rows = n;
  std::copy(rows.begin(), rows.end(), table.row);

  std::vector<float> expected;
  for (int i = 0; i < n; i++) {
    const TableRow& row = rows[i];
    for (int head = 0; head < heads; head++) {
      const auto at = [&](int t) {
        const uint8_t* of = where.data() + (row.slot * kSlotRows + row.row) * kTextContext;
        const int memory = t == row.position ? row.row : of[t];
        return row.slot * of_slot + (int64_t{head} * kSlotRows + memory) * kTextContext * kHead + t * kHead;
      };
      std::vector<double> scores;
      for (int t = 0; t <= row.position; t++) {
        double dot = 0;
        for (int d = 0; d < kHead; d++) dot += double(q.values[i * width + head * kHead + d]) * keys.values[at(t) + d];
        scores.push_back(dot);
      }
      attend(scores, [&](int t, int d) { return values.values[at(t) + d]; }, expected);
    }
  }
  const DeviceArray<uint16_t> device_q(q.bits), device_keys(keys.bits), device_values(values.bits);
  const DeviceArray<uint8_t> device_where(where);
  const DeviceArray<StepTable> device_table(std::vector<StepTable>{table});
  schedules(all_schedules, [&] {
    const DeviceArray<uint16_t> out(size_t(kMaxStepRows) * width);
    launch(self_attention_kernel(type).c_str(), self_attention_shape(heads, 16),
           SelfAttentionArgs{device_table.data(), device_q.data(),
                             {device_keys.data(), device_values.data(), of_slot, kSlotRows}, device_where.data(), out.data()});
    std::vector<uint16_t> bits = out.host();
    CHECK(std::all_of(bits.begin() + n * width, bits.end(), [](uint16_t b) { return b == 0xffff; }));
    bits.resize(n * width);
    CHECK(relative_error(half_values(bits, type), expected) < bound(type));
  });
}

// The window's keys or values as the encoder leaves them: chunks exchanged, rows past 1500 not a number.
std::vector<uint16_t> window_layout(const std::vector<uint16_t>& plain, int heads) {
  std::vector<uint16_t> result(heads * kHeadSize, 0xffff);
  for (int head = 0; head < heads; head++) {
    for (int t = 0; t < kAudioContext; t++) {
      for (int d = 0; d < kHead; d++) {
        const int place = ((d / 8) ^ (t % 8)) * 8 + d % 8;
        result[head * kHeadSize + t * kHead + place] = plain[(int64_t{head} * kAudioContext + t) * kHead + d];
      }
    }
  }
  return result;
}

struct Windows {
  int heads;
  std::vector<Halves> keys, values;  // of each slot: [head][1500][64]
  DeviceArray<uint16_t> device_keys, device_values;

  Windows(int heads, int slots, WeightType type)
      : heads(heads), device_keys(slots * heads * kHeadSize), device_values(slots * heads * kHeadSize) {
    for (int slot = 0; slot < slots; slot++) {
      for (auto* kind : {&keys, &values}) {
        kind->push_back(halves(normal(int64_t{heads} * kAudioContext * kHead, 10 * slot + (kind == &keys), 1), type));
        const std::vector<uint16_t> bits = window_layout(kind->back().bits, heads);
        const DeviceArray<uint16_t>& to = kind == &keys ? device_keys : device_values;
        device().copy_to_device(address(to) + slot * heads * kHeadSize * 2, bits.data(), bits.size() * 2);
        device().synchronize();
      }
    }
  }
};

StepTable groups_of(const std::vector<std::pair<int, int>>& slot_rows) {  // (slot, rows) each
  StepTable table = {};
  for (const auto& [slot, rows] : slot_rows) {
    for (int row = 0; row < rows; row++) {
      if (row % kGroupRows == 0) {
        table.group[table.n_groups++] = {slot, table.n_rows, std::min(kGroupRows, rows - row)};
      }
      table.row[table.n_rows++] = {slot, row, 0, 0};
    }
  }
  return table;
}

void check_cross(WeightType type, int heads, int slots, const std::vector<std::pair<int, int>>& slot_rows,
                 const std::vector<int>& score_heads, bool all_schedules) {
  const int width = heads * kHead;
  const Windows windows(heads, slots, type);
  const Halves q = halves(normal(size_t(kMaxStepRows) * width, 5, 0.5f), type);
  const StepTable table = groups_of(slot_rows);
  std::vector<float> expected, expected_scores(table.n_rows * score_heads.size() * kAudioContext);
  for (int i = 0; i < table.n_rows; i++) {
    const Halves &keys = windows.keys[table.row[i].slot], &values = windows.values[table.row[i].slot];
    for (int head = 0; head < heads; head++) {
      std::vector<double> scores;
      for (int t = 0; t < kAudioContext; t++) {
        double dot = 0;
        for (int d = 0; d < kHead; d++) {
          dot += double(q.values[i * width + head * kHead + d]) * keys.values[(int64_t{head} * kAudioContext + t) * kHead + d];
        }
        scores.push_back(dot);
      }
      for (size_t h = 0; h < score_heads.size(); h++) {
        for (int t = 0; t < kAudioContext && score_heads[h] == head; t++) {
          expected_scores[(i * score_heads.size() + h) * kAudioContext + t] = float(scores[t] / kQueryScale / 8);
        }
      }
      attend(scores, [&](int t, int d) { return values.values[(int64_t{head} * kAudioContext + t) * kHead + d]; }, expected);
    }
  }
  const DeviceArray<uint16_t> device_q(q.bits);
  const DeviceArray<StepTable> device_table(std::vector<StepTable>{table});
  const int n_groups = table.n_groups + 1;  // one more than there are
  const DeviceArray<uint32_t> arrived(n_groups * heads);
  arrived.fill(0);
  schedules(all_schedules, [&] {
    const DeviceArray<uint16_t> out(size_t(kMaxStepRows) * width);
    const DeviceArray<float> parts(size_t(n_groups) * heads * cross_splits(heads) * kCrossPart);
    const DeviceArray<float> scores(std::max<size_t>(1, score_heads.size()) * kMaxStepRows * kRows);
    CrossAttentionArgs args = {device_table.data(), device_q.data(), windows.device_keys.data(),
                               windows.device_values.data(), heads * kHeadSize, parts.data(), arrived.data(), out.data(),
                               scores.data(), {}};
    std::fill_n(args.score_head, kMaxHeads, int8_t{-1});
    for (size_t i = 0; i < score_heads.size(); i++) args.score_head[score_heads[i]] = int8_t(i);
    launch(cross_attention_kernel(type, !score_heads.empty(), heads).c_str(), cross_attention_shape(heads, n_groups), args);
    std::vector<uint16_t> bits = out.host();
    CHECK(std::all_of(bits.begin() + table.n_rows * width, bits.end(), [](uint16_t b) { return b == 0xffff; }));
    bits.resize(table.n_rows * width);
    CHECK(relative_error(half_values(bits, type), expected) < bound(type));
    const std::vector<uint32_t> left = arrived.host();
    CHECK(std::count(left.begin(), left.end(), 0u) == std::ssize(left));
    if (score_heads.empty()) return;
    const std::vector<float> all = scores.host();
    std::vector<float> got;
    for (int i = 0; i < table.n_rows; i++) {
      for (size_t h = 0; h < score_heads.size(); h++) {
        const auto row = all.begin() + (int64_t(h) * kMaxStepRows + i) * kRows;
        got.insert(got.end(), row, row + kAudioContext);
      }
    }
    CHECK(relative_error(got, expected_scores) < 1e-5);  // f32 sums of exact products
  });
}

}  // namespace

TEST_CASE("self attention: a row's past at the places of its table") {
  // First, last and neighbouring positions, and rows of one slot at different ones.
  const std::vector<TableRow> rows = {{0, 0, 0, 0},  {0, 1, 1, 0},  {0, 4, 15, 0},  {1, 0, 16, 0}, {1, 1, 17, 0},
                                      {1, 2, 63, 0}, {1, 3, 64, 0}, {2, 0, 65, 0}, {2, 3, 447, 0}};
  for (WeightType type : kOperands) check_self(type, 2, rows, true);
  check_self(WeightType::i8, 20, {rows[3], rows[7]}, false);
}

TEST_CASE("cross attention: rows of slots over their windows") {
  for (WeightType type : kOperands) check_cross(type, 2, 2, {{1, 5}, {0, 1}}, {}, true);
  check_cross(WeightType::f16, 1, 2, {{0, 16}, {1, 19}}, {}, false);  // a second group of a slot
}

TEST_CASE("cross attention: scores of the alignment heads") {
  check_cross(WeightType::f16, 3, 1, {{0, 3}}, {2, 0}, true);
  check_cross(WeightType::bf16, 2, 1, {{0, 9}}, {1}, false);
}

TEST_CASE("full: cross attention: every number of heads") {
  for (int heads : {6, 8, 12, 16, 20}) {
    for (WeightType type : kOperands) {
      check_cross(type, heads, 3, {{2, 5}, {0, 16}, {1, 1}}, {heads - 1}, false);
      check_cross(type, heads, 3, {{2, 5}, {0, 16}, {1, 1}}, {}, false);
    }
  }
}

TEST_CASE("most attended: where the alignment heads' attention adds up most, of slots that step") {
  constexpr int kSlots = 3, kHeads = 5, kFirst = 1;
  std::vector<float> scores = normal(size_t{kHeads} * kMaxStepRows * kRows, 9, 2);
  const std::vector<SlotState> states = {{1, 1, 1, 3, 0}, {1, 1, 1, 7, 0}, {1, 1, 0, 9, 0}};
  std::vector<int32_t> expected(kSlots, -7);  // as it was
  for (int head = 0; head < kHeads; head++) {  // past the window: never looked at
    for (int t = kAudioContext; t < kRows; t++) scores[(head * kMaxStepRows + 7) * kRows + t] = 50;
  }
  std::vector<double> sum(kAudioContext);
  for (int head = 0; head < kHeads; head++) {
    const float* row = scores.data() + (head * kMaxStepRows + 7) * kRows;
    double all = 0;
    for (int t = 0; t < kAudioContext; t++) all += std::exp(double(row[t]));
    for (int t = 0; t < kAudioContext; t++) sum[t] += std::exp(double(row[t])) / all;
  }
  expected[1] = int(std::max_element(sum.begin(), sum.end()) - sum.begin());
  const DeviceArray<float> device_scores(scores);
  const DeviceArray<SlotState> device_states(states);
  for_each_schedule([&] {
    const DeviceArray<int32_t> out(std::vector<int32_t>(kSlots, -7));
    launch(kMostAttendedKernel, most_attended_shape(kSlots - kFirst, kHeads),
           MostAttendedArgs{device_states.data(), kFirst, kHeads, device_scores.data(), out.data()});
    CHECK(out.host() == expected);
  });
}

TEST_CASE("decoder's attentions: bytes and bank conflicts as counted") {
  if (on_hardware()) return;
  const simt::Counters self = count([] { check_self(WeightType::f16, 1, {{0, 0, 100, 0}, {1, 2, 200, 0}}, false); });
  CHECK(self.sectors_read == self.sectors_read_ideal);
  CHECK(self.shared_wavefronts == self.shared_wavefronts_ideal);
  const simt::Counters cross = count([] { check_cross(WeightType::f16, 1, 1, {{0, 5}}, {}, false); });
  CHECK(cross.global_read > 2 * kRows * kHead * 2);
  CHECK(cross.sectors_read == cross.sectors_read_ideal);
  CHECK(cross.shared_wavefronts == cross.shared_wavefronts_ideal);
}
