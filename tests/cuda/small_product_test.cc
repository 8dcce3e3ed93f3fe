// The decoder's products against sums in double precision over the same rounded weights and operands.
#include "kernels/cuda/small_product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/decoder_data.h"
#include "cuda/device.h"
#include "kernels/cuda/decoder_weights.h"
#include "kernels/cuda/shapes.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

constexpr WeightType kTypes[] = {WeightType::f16, WeightType::bf16, WeightType::i8};

// One product's weights [n][k] on the device, and y = x w^T + bias in double.
struct Linear {
  int n, k;
  WeightType type;
  std::vector<float> w, bias;  // as kept
  DeviceArray<uint8_t> tiles;
  DeviceArray<float> scale, device_bias;

  Linear(int n, int k, WeightType type, uint32_t seed)
      : n(n), k(k), type(type), w(normal(size_t(n) * k, seed, 1 / std::sqrt(float(k)))), bias(normal(n, seed + 1, 0.5f)),
        tiles(tiles_bytes(n, k, type)), scale(n), device_bias(bias) {
    std::vector<uint8_t> packed(tiles.size());
    std::vector<float> scales(n);
    for (int tile = 0; tile < n / 16; tile++) {
      pack_tile_row(w.data() + int64_t{tile} * 16 * k, k, type, packed.data() + tiles_bytes(16, k, type) * tile,
                    scales.data() + tile * 16);
    }
    device().copy_to_device(address(tiles), packed.data(), packed.size());
    device().copy_to_device(address(scale), scales.data(), scales.size() * 4);
    device().synchronize();
  }

  ProductInput input(const StepTable* table, const void* x, int row_class) const {
    return {table, tiles.data(), type == WeightType::i8 ? scale.data() : nullptr, device_bias.data(), x,
            row_class / block_rows(row_class)};
  }
  double at(const float* x, int o) const {
    double sum = bias[o];
    for (int i = 0; i < k; i++) sum += double(x[i]) * w[size_t(o) * k + i];
    return sum;
  }
};

StepTable table_of(int n_rows) {
  StepTable table = {};
  table.n_rows = n_rows;
  for (int i = 0; i < n_rows; i++) table.row[i] = {i % 8, i / 8, (i * 37) % kTextContext, 0};
  return table;
}

// Rows behind a norm: their operands x gain, rounded, moments, and what the norm makes of the operands: (operand - mean
// gain) / deviation + shift.
struct Normed {
  int width;
  std::vector<float> gain, shift;
  Halves operand;
  std::vector<Moments> moments;
  std::vector<float> values;

  Normed(int width, WeightType type, uint32_t seed)
      : width(width), gain(normal(width, seed, 0.2f, 1)), shift(normal(width, seed + 1, 0.2f)) {
    const std::vector<float> x = normal(size_t(kMaxStepRows) * width, seed + 2, 2.0f, 0.3f);
    std::vector<float> scaled(x.size());
    for (size_t i = 0; i < x.size(); i++) scaled[i] = x[i] * gain[i % width];
    operand = halves(scaled, type);
    values.resize(x.size());
    for (int r = 0; r < kMaxStepRows; r++) add_row(r, x.data() + size_t(r) * width);
  }
  void add_row(int r, const float* row) {
    double mean = 0, variance = 0;
    for (int i = 0; i < width; i++) mean += row[i] / double(width);
    for (int i = 0; i < width; i++) variance += (row[i] - mean) * (row[i] - mean) / width;
    for (int part = 0; part < width / kMomentValues; part++) {
      const float* of = row + part * kMomentValues;
      double m = 0, m2 = 0;
      for (int i = 0; i < kMomentValues; i++) m += of[i] / double(kMomentValues);
      for (int i = 0; i < kMomentValues; i++) m2 += (of[i] - m) * (of[i] - m);
      moments.push_back({float(m), float(m2)});
    }
    for (int i = 0; i < width; i++) {
      const size_t at = size_t(r) * width + i;
      values[at] = float((operand.values[at] - mean * gain[i]) / std::sqrt(variance + 1e-5) + shift[i]);
    }
  }
  // The product's weights behind this norm: gives gain_sum, and sets its bias.
  std::vector<float> fold(const Linear& linear) const {
    std::vector<float> gain_sum, bias;
    for (int o = 0; o < linear.n; o++) {
      double sum = 0, shifted = linear.bias[o];
      for (int i = 0; i < width; i++) {
        sum += double(gain[i]) * linear.w[size_t(o) * width + i];
        shifted += double(shift[i]) * linear.w[size_t(o) * width + i];
      }
      gain_sum.push_back(float(sum));
      bias.push_back(float(shifted));
    }
    device().copy_to_device(address(linear.device_bias), bias.data(), bias.size() * 4);
    device().synchronize();
    return gain_sum;
  }
};

// Everything that a product behind a norm takes, on the device.
struct NormedProduct {
  Linear linear;
  Normed rows;
  DeviceArray<float> gain_sum;
  DeviceArray<uint16_t> x;
  DeviceArray<Moments> moments;

  NormedProduct(int n, int width, WeightType type)
      : linear(n, width, type, 1), rows(width, type, 2), gain_sum(rows.fold(linear)), x(rows.operand.bits),
        moments(rows.moments) {}
  NormInput norm() const { return {moments.data(), gain_sum.data()}; }
  double at(int row, int o) const { return linear.at(rows.values.data() + size_t(row) * rows.width, o); }

  void fc1(const StepTable* table, int row_class, void* hidden) const {
    launch(small_product_kernel(SmallProduct::fc1, linear.type, rows.width, row_class).c_str(),
           small_product_shape(SmallProduct::fc1, linear.n, rows.width, row_class),
           Fc1Args{linear.input(table, x.data(), row_class), norm(), hidden});
  }
};

// Results are rounded to 11 (bf16: 8) bits; sums are of f32.
double bound(WeightType type) { return type == WeightType::bf16 ? 3e-3 : 4e-4; }

DeviceArray<StepTable> on_device(const StepTable& table) { return DeviceArray<StepTable>(std::vector<StepTable>{table}); }

void check_fc1(int width, WeightType type, int row_class, int n_rows, bool all_schedules) {
  CAPTURE(width);
  CAPTURE(int(type));
  CAPTURE(row_class);
  const int n = 64;  // of the 4 width outputs; any number of tiles is the same work
  const NormedProduct product(n, width, type);
  const DeviceArray<StepTable> table = on_device(table_of(n_rows));
  schedules(all_schedules, [&] {
    const DeviceArray<uint16_t> hidden(size_t(kMaxStepRows) * 4 * width);
    product.fc1(table.data(), row_class, hidden.data());
    const std::vector<uint16_t> bits = hidden.host();
    std::vector<float> y, expected;
    bool untouched = true;
    for (int r = 0; r < kMaxStepRows; r++) {
      for (int o = 0; o < 4 * width; o++) {
        const uint16_t got = bits[size_t(r) * 4 * width + o];
        if (r >= n_rows || o >= n) {
          untouched &= got == 0xffff;
          continue;
        }
        const double v = product.at(r, o);
        expected.push_back(float(v * (1 + std::erf(v / std::sqrt(2.0))) / 2));
        y.push_back(half_value(got, type));
      }
    }
    CHECK(relative_error(y, expected) < bound(type));
    CHECK(untouched);
  });
}

void check_residual(SmallProduct what, int width, WeightType type, int row_class, int n_rows, bool all_schedules) {
  CAPTURE(width);
  CAPTURE(int(type));
  CAPTURE(row_class);
  const int n = 64, k = what == SmallProduct::fc2 ? 4 * width : width;
  const Linear linear(n, k, type, 11);
  const Halves rows = halves(normal(size_t(kMaxStepRows) * k, 12, 1), type);
  const std::vector<float> before = normal(size_t(kMaxStepRows) * width, 13, 1), gains = normal(width, 14, 0.3f, 1);
  const DeviceArray<uint16_t> in(rows.bits);
  const DeviceArray<float> gain(gains);
  const DeviceArray<StepTable> table = on_device(table_of(n_rows));
  schedules(all_schedules, [&] {
    const DeviceArray<float> x(before);
    const DeviceArray<uint16_t> operand(size_t(kMaxStepRows) * width);
    const DeviceArray<Moments> moments(size_t(kMaxStepRows) * width / kMomentValues);
    launch(small_product_kernel(what, type, width, row_class).c_str(), small_product_shape(what, n, k, row_class),
           ResidualArgs{linear.input(table.data(), in.data(), row_class), x.data(), gain.data(), operand.data(),
                        moments.data()});
    const std::vector<float> after = x.host(), operands = half_values(operand.host(), type);
    const std::vector<Moments> parts = moments.host();
    std::vector<float> expected = before, got_operand, expected_operand, got_moments, expected_moments;
    for (int r = 0; r < n_rows; r++) {
      for (int o = 0; o < n; o++) {
        const size_t at = size_t(r) * width + o;
        expected[at] += float(linear.at(rows.values.data() + size_t(r) * k, o));
        got_operand.push_back(operands[at]);
        expected_operand.push_back(expected[at] * gains[o]);
        if (o % kMomentValues != kMomentValues - 1) continue;
        double mean = 0, m2 = 0;
        for (size_t i = at + 1 - kMomentValues; i <= at; i++) mean += expected[i] / double(kMomentValues);
        for (size_t i = at + 1 - kMomentValues; i <= at; i++) m2 += (expected[i] - mean) * (expected[i] - mean);
        for (double value : {mean, m2}) expected_moments.push_back(float(value));
        for (float value : {parts[at / kMomentValues].mean, parts[at / kMomentValues].m2}) got_moments.push_back(value);
      }
    }
    CHECK(relative_error(after, expected) < 1e-5);  // f32 all the way
    CHECK(relative_error(got_operand, expected_operand) < bound(type));
    CHECK(relative_error(got_moments, expected_moments) < 1e-5);
  });
}

void check_qkv(int width, WeightType type, int row_class, int n_rows, int n, bool all_schedules) {
  CAPTURE(width);
  CAPTURE(int(type));
  CAPTURE(row_class);
  constexpr int kSlots = 8, kSlotRows = 8;
  const NormedProduct product(n, width, type);
  const StepTable host_table = table_of(n_rows);
  const DeviceArray<StepTable> table = on_device(host_table);
  const int64_t of_slot = int64_t{kSlotRows} * kTextContext * width;
  schedules(all_schedules, [&] {
    const DeviceArray<uint16_t> q(size_t(kMaxStepRows) * width), keys(kSlots * of_slot), values(kSlots * of_slot);
    launch(small_product_kernel(SmallProduct::qkv, type, width, row_class).c_str(),
           small_product_shape(SmallProduct::qkv, n, width, row_class),
           QkvArgs{product.linear.input(table.data(), product.x.data(), row_class), product.norm(), q.data(),
                   {keys.data(), values.data(), of_slot, kSlotRows}});
    const std::vector<uint16_t> q_bits = q.host(), key_bits = keys.host(), value_bits = values.host();
    std::vector<float> got, expected;
    for (int r = 0; r < n_rows; r++) {
      const TableRow& of = host_table.row[r];
      for (int o = 0; o < n; o++) {
        const int column = o % width;
        const int64_t at = of.slot * of_slot + column % kHead +
                           (int64_t{column / kHead * kSlotRows + of.row} * kTextContext + of.position) * kHead;
        expected.push_back(float(product.at(r, o)) * (o < width ? kQueryScale : 1));
        got.push_back(half_value(o < width       ? q_bits[size_t(r) * width + o]
                                 : o < 2 * width ? key_bits[at]
                                                 : value_bits[at],
                                 type));
      }
    }
    CHECK(relative_error(got, expected) < bound(type));
    const auto written = [](const std::vector<uint16_t>& bits) {
      return std::ssize(bits) - std::count(bits.begin(), bits.end(), 0xffff);
    };
    CHECK(written(key_bits) == (n > width ? int64_t{n_rows} * width : 0));
    CHECK(written(value_bits) == (n > width ? int64_t{n_rows} * width : 0));
  });
}

}  // namespace

TEST_CASE("small products: norm and gelu, every width, type and class of rows") {
  for (int width : widths()) {
    for (WeightType type : kTypes) {
      for (int rows : kRowClasses) check_fc1(width, type, rows, rows - 3, width == 384 && type == WeightType::f16);
    }
  }
  check_fc1(384, WeightType::f16, 64, 20, true);  // the second block of rows has nothing to do
}

TEST_CASE("small products: residual, operand and moments of the next norm") {
  for (int width : widths()) {
    for (WeightType type : kTypes) {
      for (int rows : kRowClasses) {
        const bool all = width == 384 && type == WeightType::i8;
        check_residual(SmallProduct::out, width, type, rows, rows - 2, all);
        check_residual(SmallProduct::fc2, width, type, rows, rows - 2, all);
      }
    }
  }
}

TEST_CASE("small products: queries, and keys and values to where their positions are kept") {
  for (WeightType type : kTypes) check_qkv(384, type, 8, 7, 3 * 384, type == WeightType::bf16);
  for (int width : widths()) {
    for (int rows : kRowClasses) check_qkv(width, WeightType::f16, rows, rows - 1, 128, false);
  }
}

TEST_CASE("full: small products: queries, keys and values at every width, type and class of rows") {
  for (int width : widths()) {
    check_qkv(width, WeightType::f16, 64, 61, 3 * width, false);
    for (WeightType type : kTypes) {
      for (int rows : kRowClasses) check_qkv(width, type, rows, rows - 1, 128, false);
    }
  }
}

TEST_CASE("small products: a row's result doesn't depend on the rows beside it") {
  const int width = 384;
  const NormedProduct product(64, width, WeightType::f16);
  std::vector<uint16_t> first;
  for (int row_class : kRowClasses) {
    const DeviceArray<StepTable> table = on_device(table_of(row_class));
    const DeviceArray<uint16_t> hidden(size_t(kMaxStepRows) * 4 * width);
    product.fc1(table.data(), row_class, hidden.data());
    std::vector<uint16_t> bits = hidden.host();
    bits.resize(size_t{8} * 4 * width);
    if (first.empty()) first = bits;
    CHECK(bits == first);
  }
}

TEST_CASE("small products: bytes, operations and bank conflicts as counted") {
  if (on_hardware()) return;
  const int width = 384, n = 128, row_class = 8;
  const NormedProduct product(n, width, WeightType::f16);
  const DeviceArray<StepTable> table = on_device(table_of(row_class));
  const DeviceArray<uint16_t> hidden(size_t(kMaxStepRows) * 4 * width);
  const simt::Counters c = count([&] { product.fc1(table.data(), row_class, hidden.data()); });
  const int64_t weights = int64_t{n} * width * 2, operand = int64_t{8} * width * 2 * (n / 16);
  CHECK(c.mma_operations == int64_t{2} * n * width * 8);
  const int64_t moments = int64_t{8} * width / kMomentValues * 8 * (n / 16);
  // Of each block: biases and sums of gains, and by each of its threads the number of rows.
  const int64_t rest = n / 16 * (32 * 16 + 32 * split_warps(width) * 4);
  CHECK(c.global_read == weights + operand + moments + rest);
  CHECK(c.sectors_read == c.sectors_read_ideal);
  CHECK(c.sectors_written == c.sectors_written_ideal);
  CHECK(c.shared_wavefronts == c.shared_wavefronts_ideal);
}
