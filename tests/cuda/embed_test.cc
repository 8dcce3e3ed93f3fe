// Which rows a step has, and what they start from.
#include "kernels/cuda/embed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "cuda/decoder_data.h"
#include "cuda/device.h"
#include "kernels/cuda/decoder_weights.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

constexpr WeightType kTypes[] = {WeightType::f16, WeightType::bf16, WeightType::i8};
constexpr int kVocabulary = 96;

struct Embedding {
  int width;
  WeightType type;
  std::vector<float> tokens, positions, gains;  // as kept
  DeviceArray<uint8_t> tiles;
  DeviceArray<float> scale, device_positions, gain, x;
  DeviceArray<uint16_t> operand;
  DeviceArray<Moments> moments;

  Embedding(int width, WeightType type)
      : width(width), type(type), tokens(normal(kVocabulary * width, 1, 0.3f)),
        positions(normal(kTextContext * width, 2, 0.2f)), gains(normal(width, 3, 0.2f, 1)),
        tiles(tiles_bytes(kVocabulary, width, type)), scale(kVocabulary), device_positions(positions), gain(gains),
        x(kMaxStepRows * width), operand(kMaxStepRows * width), moments(kMaxStepRows * width / kMomentValues) {
    std::vector<uint8_t> packed(tiles.size());
    std::vector<float> scales(kVocabulary);
    for (int tile = 0; tile < kVocabulary / 16; tile++) {
      pack_tile_row(tokens.data() + tile * 16 * width, width, type, packed.data() + tiles_bytes(16, width, type) * tile,
                    scales.data() + tile * 16);
    }
    device().copy_to_device(address(tiles), packed.data(), packed.size());
    device().copy_to_device(address(scale), scales.data(), scales.size() * 4);
    device().synchronize();
  }

  EmbedArgs args(StepTable* table) const {
    return {table, nullptr, nullptr, 0, 0, tiles.data(), type == WeightType::i8 ? scale.data() : nullptr,
            device_positions.data(), gain.data(), x.data(), operand.data(), moments.data()};
  }

  void check(const StepTable& table) const {
    const std::vector<float> got = x.host(), operands = half_values(operand.host(), type);
    const std::vector<Moments> parts = moments.host();
    std::vector<float> rows, expected, row_operands, expected_operands, got_moments, expected_moments;
    for (int r = 0; r < table.n_rows; r++) {
      for (int i = 0; i < width; i++) {
        expected.push_back(tokens[table.row[r].token * width + i] + positions[table.row[r].position * width + i]);
        rows.push_back(got[r * width + i]);
        expected_operands.push_back(expected.back() * gains[i]);
        row_operands.push_back(operands[r * width + i]);
        if (i % kMomentValues != kMomentValues - 1) continue;
        double mean = 0, m2 = 0;
        const std::span<const float> sixteen = std::span<const float>(expected).last(kMomentValues);
        for (float value : sixteen) mean += value / kMomentValues;
        for (float value : sixteen) m2 += (value - mean) * (value - mean);
        for (double value : {mean, m2}) expected_moments.push_back(float(value));
        const Moments& part = parts[(r * width + i) / kMomentValues];
        for (float value : {part.mean, part.m2}) got_moments.push_back(value);
      }
    }
    CHECK(relative_error(rows, expected) < 1e-6);
    CHECK(relative_error(row_operands, expected_operands) < (type == WeightType::bf16 ? 3e-3 : 4e-4));
    CHECK(relative_error(got_moments, expected_moments) < 1e-5);
  }
};

}  // namespace

TEST_CASE("embedding: rows of a table, every width and type") {
  StepTable table = {};
  table.n_rows = 5;
  for (int i = 0; i < 5; i++) table.row[i] = {0, 0, i * 111, (i * 41 + 7) % kVocabulary};
  for (int width : widths()) {
    for (WeightType type : kTypes) {
      CAPTURE(width);
      CAPTURE(int(type));
      const Embedding embedding(width, type);
      const DeviceArray<StepTable> device_table(std::vector<StepTable>{table});
      schedules(width == 384, [&] {
        embedding.x.fill(0xff);
        launch(embed_kernel(false, type, width).c_str(), embed_shape(8), embedding.args(device_table.data()));
        embedding.check(table);
      });
    }
  }
}

TEST_CASE("embedding: a step's rows are those of the slots that step, in order") {
  constexpr int kSlots = 37, kFirst = 2;
  const int live[] = {3, 0, 20, 1, 5};  // of slots 4, 8, 9, 34 and 36; the others don't step
  const int slots[] = {4, 8, 9, 34, 36};
  const auto rows = std::make_unique<SlotRows[]>(kSlots);
  std::vector<SlotState> states(kSlots);
  std::memset(rows.get(), 0, sizeof(SlotRows) * kSlots);
  StepTable expected = {};
  for (int i = 0; i < kSlots; i++) {
    rows[i].n_live = 7;  // of a slot that doesn't step: not counted
    states[i] = {4 + i, i, 0, -1, 0};
  }
  for (int i = 0; i < 5; i++) {
    const int slot = slots[i];
    SlotRows& of = rows[slot];
    states[slot].stepping = 1;
    of.n_live = live[i];
    of.n_sampled = i == 3 ? 0 : 10 + i;  // slot 34 feeds its prompt's last token
    for (int row = 0; row < live[i]; row++) {
      if (of.n_sampled > 0) of.token[of.n_sampled - 1][row] = (slot + 3 * row) % kVocabulary;
      if (row % kGroupRows == 0) {
        expected.group[expected.n_groups++] = {slot, expected.n_rows, std::min(kGroupRows, live[i] - row)};
      }
      expected.row[expected.n_rows++] = {slot, row, states[slot].n_prompt + of.n_sampled - 1,
                                         of.n_sampled > 0 ? (slot + 3 * row) % kVocabulary : states[slot].last_token};
    }
  }
  const Embedding embedding(384, WeightType::f16);
  const DeviceArray<SlotRows> device_rows(std::span<const SlotRows>(rows.get(), kSlots));
  for_each_schedule([&] {
    const DeviceArray<SlotState> device_states(states);
    const DeviceArray<StepTable> device_table(1);
    EmbedArgs args = embedding.args(device_table.data());
    args.slots = device_states.data();
    args.rows = device_rows.data();
    args.first_slot = kFirst;
    args.n_slots = kSlots - kFirst;
    launch(embed_kernel(true, WeightType::f16, 384).c_str(), embed_shape(32), args);
    const StepTable table = device_table.host()[0];
    REQUIRE(table.n_rows == expected.n_rows);
    REQUIRE(table.n_groups == expected.n_groups);
    CHECK(std::memcmp(table.row, expected.row, sizeof(TableRow) * table.n_rows) == 0);
    CHECK(std::memcmp(table.group, expected.group, sizeof(CrossGroup) * table.n_groups) == 0);
    embedding.check(table);
    int first = 0;
    const std::vector<SlotState> after = device_states.host();
    for (int i = 0; i < 5; i++) {
      if (live[i] > 0) CHECK(after[slots[i]].first_row == first);
      first += live[i];
    }
  });
}
