// Each kernel of each instruction set that this machine can run, against plain sums in double of the very values that
// the kernel was given (operands are read back from their packed form, so quantisation is not part of the error).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/packed_model.h"
#include "models/dims.h"

namespace sotto::cpu {

#if defined(__x86_64__)
extern const Kernels kAvx512Bf16Twin;  // the bf16 kernels, their one instruction replaced by others
extern const Kernels kAvx2VnniTwin;    // the kernels of AVX2 with VNNI, with the instruction's other form
#endif

namespace {

std::vector<const Kernels*> kernels_to_test() {
  std::vector<const Kernels*> all = available_kernels();
#if defined(__x86_64__)
  if (std::string(all.front()->name).starts_with("avx512")) {
    all.push_back(&kAvx512Bf16Twin);
    all.push_back(&kAvx2VnniTwin);
  }
#endif
  return all;
}

std::vector<float> random_values(size_t n, unsigned seed, float size = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

float f32_of_f16(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>(half & 0x8000 ? -size : size);
}

float f32_of_bf16(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Value i of an array of a 2- or 4-byte type.
float stored_value(Type type, const char* data, int64_t i) {
  uint16_t half;
  float value;
  if (type == Type::f32) return std::memcpy(&value, data + 4 * i, 4), value;
  std::memcpy(&half, data + 2 * i, 2);
  return type == Type::f16 ? f32_of_f16(half) : f32_of_bf16(half);
}

double value_of_b(const PackedLinear& linear, int panel, int n, int k) {
  const int per_group = values_per_group(linear.type);
  const int64_t group = int64_t(n / panel) * linear.groups() + k / per_group;
  const int64_t index = (group * panel + n % panel) * per_group + k % per_group;
  if (linear.type == Type::i8) return double(static_cast<signed char>(linear.b[index])) *
           linear.b_scale[int64_t(k / kScaled) * linear.panels(panel) * panel + n];
  return stored_value(linear.type, linear.b, index);
}

double value_of_a(Type type, const Operand& a, Range range, int width, int row, int k) {
  const char* data = static_cast<const char*>(a.a) + row * a.stride;
  if (type == Type::i8) {
    const double value = static_cast<unsigned char>(data[k]);
    const double scale = a.scale[row * scales_of(width) + k / kScaled];
    return range == Range::gelu ? value * scale - kGeluFloor : (value - kOffset) * scale;
  }
  return stored_value(type == Type::f16 ? Type::f32 : type, data, k);
}

double plain_gelu(double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }

struct Shape {
  int rows, n, k;
};

void check_product(const Kernels& kernels, Type type, const Shape& shape, Epilogue epilogue, Range range) {
  CAPTURE(kernels.name);
  CAPTURE(int(type));
  CAPTURE(shape.rows);
  CAPTURE(shape.n);
  CAPTURE(shape.k);
  const auto [rows, n, k] = shape;
  std::vector<float> x = random_values(int64_t(rows) * k, 1), w = random_values(int64_t(n) * k, 2, 0.05f);
  const std::vector<float> bias = random_values(n, 3);
  if (range == Range::gelu)
    for (float& value : x) value = static_cast<float>(plain_gelu(value));
  PackedLinear linear = {};
  linear.type = type;
  linear.n = n;
  linear.k = k;
  const Buffer<char> memory(packed_bytes(linear, kernels.panel));
  char* at = memory.data();
  place_linear(linear, kernels.panel, at);
  pack_linear(w.data(), bias.data(), linear, kernels.panel, range == Range::gelu);
  const OperandBuffer buffer(rows, k);
  kernels.operand[int(type)](buffer.rows(type, {x.data(), k}, 0, rows, k), range);
  const Operand a = buffer.operand(type, k);
  const int columns = linear.panels(kernels.panel) * kernels.panel;
  std::vector<float> c = random_values(int64_t(rows) * columns, 4);
  const std::vector<float> before = c;
  kernels.product[int(type)](product_of(linear, a, rows, epilogue, {c.data(), columns}, kernels.panel));

  // f32 sums of k terms, each rounded: their error is within k * 2^-24 of the sum of sizes, and in practice far below.
  double worst = 0;
  for (int r = 0; r < rows; r += rows > 8 ? 5 : 1) {
    for (int j = 0; j < n; j++) {
      if (n > 512 && j % 7 != 0 && j < n - 64) continue;  // some of many
      double sum = 0, size = 1;
      for (int i = 0; i < k; i++) {
        const double term = value_of_a(type, a, range, k, r, i) * value_of_b(linear, kernels.panel, j, i);
        sum += term;
        size += std::fabs(term);
      }
      sum += bias[j];
      const double expected = epilogue == Epilogue::gelu  ? plain_gelu(sum)
                              : epilogue == Epilogue::add ? before[int64_t(r) * columns + j] + sum
                                                          : sum;
      worst = std::max(worst, std::fabs(c[int64_t(r) * columns + j] - expected) / (size + std::fabs(bias[j])));
    }
  }
  CHECK(worst < 2e-6);
}

const Type kAllTypes[] = {Type::f32, Type::f16, Type::bf16, Type::i8};

TEST_CASE("products of every type, at the widths of every model size and odd numbers of rows") {
  for (const Kernels* kernels : kernels_to_test()) {
    for (const Type type : kAllTypes) {
      if (!kernels->product[int(type)]) continue;
      for (const int width : {384, 512, 768, 1024, 1280}) {
        check_product(*kernels, type, {1, 128, width}, Epilogue::store, Range::symmetric);
        check_product(*kernels, type, {5, 128, width}, Epilogue::add, Range::symmetric);
      }
      for (const int rows : {2, 3, 4, 6, 7, 11, 64, 101})
        check_product(*kernels, type, {rows, 192, 384}, Epilogue::store, Range::symmetric);
      check_product(*kernels, type, {13, 64, 2048}, Epilogue::store, Range::gelu);
      check_product(*kernels, type, {9, 192, 512}, Epilogue::gelu, Range::symmetric);
      check_product(*kernels, type, {3, 1001, 384}, Epilogue::store, Range::symmetric);  // a vocabulary's tail
    }
  }
}

TEST_CASE("full: products of every shape of every model size, 1 to 64 rows") {
  for (const Kernels* kernels : kernels_to_test()) {
    for (const Type type : kAllTypes) {
      if (!kernels->product[int(type)]) continue;
      for (const int width : {384, 512, 768, 1024, 1280}) {
        for (const int rows : {1, 5, 7, 40, 64}) {
          check_product(*kernels, type, {rows, 3 * width, width}, Epilogue::store, Range::symmetric);
          check_product(*kernels, type, {rows, width, width}, Epilogue::add, Range::symmetric);
          check_product(*kernels, type, {rows, 4 * width, width}, Epilogue::gelu, Range::symmetric);
          check_product(*kernels, type, {rows, width, 4 * width}, Epilogue::add, Range::gelu);
        }
        check_product(*kernels, type, {11, width, 3 * width}, Epilogue::gelu, Range::gelu);  // the second convolution
        for (const int bins : {80, 128}) {
          if (type == Type::f32) check_product(*kernels, type, {11, width, 3 * bins}, Epilogue::gelu, Range::symmetric);
        }
      }
      for (const int vocabulary : {51864, 51865, 51866})
        check_product(*kernels, type, {3, vocabulary, 384}, Epilogue::store, Range::symmetric);
      for (int rows = 1; rows <= 64; rows++) check_product(*kernels, type, {rows, 128, 384}, Epilogue::store, Range::symmetric);
    }
  }
}

TEST_CASE("bytes and what rounding took from them give a product that rounded the weights alone") {
  constexpr int kRows = 7, kWidth = 384, kColumns = 128;
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const Range range : {Range::symmetric, Range::gelu}) {
      CAPTURE(int(range));
      std::vector<float> x = random_values(kRows * kWidth, 5, 2), w = random_values(kColumns * kWidth, 6, 0.05f);
      x[3] = 40;  // beside which others lose most of their digits
      const std::vector<float> bias = random_values(kColumns, 7);
      if (range == Range::gelu)
        for (float& value : x) value = static_cast<float>(plain_gelu(value));
      PackedLinear linear = {};
      linear.type = Type::i8;
      linear.n = kColumns;
      linear.k = kWidth;
      const Buffer<char> memory(packed_bytes(linear, kernels->panel));
      char* at = memory.data();
      place_linear(linear, kernels->panel, at);
      pack_linear(w.data(), bias.data(), linear, kernels->panel, range == Range::gelu);
      const OperandBuffer buffer(kRows, kWidth), buffer_of_rest(kRows, kWidth);
      kernels->operand_and_rest(buffer.rows(Type::i8, {x.data(), kWidth}, 0, kRows, kWidth),
                                buffer_of_rest.rows(Type::i8, {}, 0, kRows, kWidth), range);
      std::vector<float> c(kRows * kColumns);
      const View to = {c.data(), kColumns};
      Product first = product_of(linear, buffer.operand(Type::i8, kWidth), kRows, Epilogue::store, to, kernels->panel);
      first.bias = nullptr;
      Product rest = product_of(linear, buffer_of_rest.operand(Type::i8, kWidth), kRows, Epilogue::gelu, to, kernels->panel);
      rest.goes_on = true;
      kernels->product[int(Type::i8)](first);
      kernels->product[int(Type::i8)](rest);
      double worst = 0;
      for (int r = 0; r < kRows; r++) {
        for (int j = 0; j < kColumns; j++) {
          double sum = 0, size = 0;
          for (int i = 0; i < kWidth; i++) {
            const double weight = value_of_b(linear, kernels->panel, j, i);
            sum += x[r * kWidth + i] * weight;
            size += std::fabs(x[r * kWidth + i] * weight);
          }
          worst = std::max(worst, std::fabs(c[r * kColumns + j] - plain_gelu(sum + bias[j])) / (size + std::fabs(bias[j])));
        }
      }
      CHECK(worst < 1e-4);  // 16 bits of the largest of 128 values; bytes alone: 1e-2
    }
  }
}

TEST_CASE("a row's product does not depend on the rows beside it") {
  constexpr int kRows = 17, kWidth = 512, kColumns = 128;
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const Type type : kAllTypes) {
      if (!kernels->product[int(type)]) continue;
      std::vector<float> x = random_values(kRows * kWidth, 5), w = random_values(kColumns * kWidth, 6, 0.05f);
      PackedLinear linear = {};
      linear.type = type;
      linear.n = kColumns;
      linear.k = kWidth;
      const Buffer<char> memory(packed_bytes(linear, kernels->panel));
      char* at = memory.data();
      place_linear(linear, kernels->panel, at);
      pack_linear(w.data(), nullptr, linear, kernels->panel, false);
      const OperandBuffer buffer(kRows, kWidth);
      std::vector<float> all(kRows * kColumns), alone(kColumns);
      kernels->operand[int(type)](buffer.rows(type, {x.data(), kWidth}, 0, kRows, kWidth), Range::symmetric);
      kernels->product[int(type)](product_of(linear, buffer.operand(type, kWidth), kRows, Epilogue::gelu,
                                             {all.data(), kColumns}, kernels->panel));
      for (const int row : {0, 5, 16}) {
        kernels->operand[int(type)](buffer.rows(type, {x.data() + row * kWidth, kWidth}, 0, 1, kWidth), Range::symmetric);
        kernels->product[int(type)](product_of(linear, buffer.operand(type, kWidth), 1, Epilogue::gelu,
                                               {alone.data(), kColumns}, kernels->panel));
        CHECK(std::memcmp(alone.data(), all.data() + row * kColumns, sizeof(float) * kColumns) == 0);
      }
    }
  }
}

TEST_CASE("GELU is within 1e-6 of the error function's") {
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    constexpr int kValues = 4096;
    std::vector<float> x(kValues), zero(kValues * 64), c(kValues * 64);
    const std::vector<float> weight(64, 1);
    for (int i = 0; i < kValues; i++) x[i] = static_cast<float>(i - kValues / 2) / 128;  // -16 to 16
    PackedLinear linear = {};
    linear.n = 64;
    linear.k = 1;
    const Buffer<char> memory(packed_bytes(linear, kernels->panel));
    char* at = memory.data();
    place_linear(linear, kernels->panel, at);
    pack_linear(weight.data(), nullptr, linear, kernels->panel, false);
    kernels->product[0](product_of(linear, {x.data(), 4, nullptr}, kValues, Epilogue::gelu, {c.data(), 64}, kernels->panel));
    double worst = 0;
    for (int i = 0; i < kValues; i++) worst = std::max(worst, std::fabs(c[i * 64] - plain_gelu(x[i])));
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("LayerNorm gives operands within half a step of their type") {
  constexpr int kRows = 3;
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const int width : {384, 1280}) {
      for (const Type type : kAllTypes) {
        if (!kernels->norm[int(type)]) continue;
        std::vector<float> x = random_values(kRows * width, 7, 3);
        const std::vector<float> weight = random_values(width, 8), bias = random_values(width, 9);
        const OperandBuffer buffer(kRows, width);
        kernels->norm[int(type)](buffer.rows(type, {x.data(), width}, 0, kRows, width), weight.data(), bias.data());
        const Operand a = buffer.operand(type, width);
        for (int r = 0; r < kRows; r++) {
          double mean = 0, variance = 0;
          for (int i = 0; i < width; i++) mean += x[r * width + i] / width;
          for (int i = 0; i < width; i++) variance += (x[r * width + i] - mean) * (x[r * width + i] - mean) / width;
          double worst = 0;
          for (int i = 0; i < width; i++) {
            const double expected = (x[r * width + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
            const double step = type == Type::i8     ? a.scale[r * scales_of(width) + i / kScaled]
                                : type == Type::bf16 ? std::fabs(expected) / 128
                                                     : 0;
            worst = std::max(worst, std::fabs(value_of_a(type, a, Range::symmetric, width, r, i) - expected) - step / 2);
          }
          CHECK(worst < 1e-5);
        }
      }
    }
  }
}

// One head over n keys, as the paper has it, in double.
std::vector<double> plain_attention(const float* q, const std::vector<double>& k, const std::vector<double>& v, int n) {
  std::vector<double> weight(n), out(kHead);
  double peak = -1e300, total = 0;
  for (int t = 0; t < n; t++) {
    for (int d = 0; d < kHead; d++) weight[t] += q[d] * k[t * kHead + d] / 8;
    peak = std::max(peak, weight[t]);
  }
  for (double& w : weight) total += w = std::exp(w - peak);
  for (int t = 0; t < n; t++)
    for (int d = 0; d < kHead; d++) out[d] += weight[t] / total * v[t * kHead + d];
  return out;
}

TEST_CASE("attention over packed keys and values of any number") {
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const Type type : kAllTypes) {
      if (!kernels->attention[int(type)]) continue;
      CAPTURE(int(type));
      for (const int n : {1, 127, 128, 129, 1500}) {
        CAPTURE(n);
        const int rows = n == 129 ? kAttentionRows : 7, padded = padded_keys(n);
        const std::vector<float> q = random_values(rows * 80, 10, 4);
        const std::vector<float> k = random_values(n * 72, 11), v = random_values(n * 72, 12);
        const Buffer<char> keys(keys_bytes(type, n)), values(values_bytes(type, n));
        for (int first = 0; first < n; first += 100) {  // in pieces, as blocks of rows come
          const int count = std::min(100, n - first);
          kernels->pack_keys[int(type)]({k.data() + first * 72, 72, first, count, padded, keys.data()});
          kernels->pack_values[int(type)]({v.data() + first * 72, 72, first, count, padded, values.data()});
        }
        std::vector<float> out(rows * 70);
        kernels->attention[int(type)]({q.data(), 80, rows, keys.data(), values.data(), n, out.data(), 70});
        std::vector<double> plain_k, plain_v;  // rounded to f16 or bf16 by 2^-11 or 2^-8 of each value: no matter below
        for (int t = 0; t < n; t++)
          for (int d = 0; d < kHead; d++) plain_k.push_back(k[t * 72 + d]), plain_v.push_back(v[t * 72 + d]);
        double error = 0, size = 0;
        for (int r = 0; r < rows; r++) {
          const std::vector<double> expected = plain_attention(q.data() + r * 80, plain_k, plain_v, n);
          for (int d = 0; d < kHead; d++) {
            error += (out[r * 70 + d] - expected[d]) * (out[r * 70 + d] - expected[d]);
            size += expected[d] * expected[d];
          }
        }
        // Scores are up to about 15: rounding q and k moves one by 15 * 2^-24 in f32, and by about 4 * 2^-11, 4 * 2^-8
        // or 4 / 127 in the others, and weights by as much of their value. Of int8, weights are rounded, too, to 255ths of
        // the largest.
        CHECK(std::sqrt(error / size) < (type == Type::f32 ? 3e-6 : type == Type::f16 ? 2e-3 : 3e-2));
      }
    }
  }
}

// Rows of one value are exact in bytes, so scores of any size can be asked for. So many rows go past each other, one does not.
TEST_CASE("attention whose scores are far from 0, or rise and fall by more than any fixed point holds; alone and in company") {
  constexpr int n = 300, rows = 40, padded = padded_keys(n);
  const std::vector<float> v = random_values(n * kHead, 16);
  const std::vector<double> plain_v(v.begin(), v.end());
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const Type type : kAllTypes) {
      if (!kernels->attention[int(type)]) continue;
      CAPTURE(int(type));
      for (const int kind : {0, 1, 2, 3, 4}) {
        CAPTURE(kind);
        std::vector<float> q(rows * kHead), k(n * kHead);
        std::vector<double> plain_k(n * kHead);
        for (int t = 0; t < n; t++) {
          const int wave = t % 7 - 3, step = t / 64;  // halves, which bf16 holds exactly too
          const float scores[] = {-100 + 0.5f * wave, 100 + 0.5f * wave, -224 + 64.0f * step + wave, 224 - 64.0f * step + wave,
                                  t == 290 ? 120.0f : float(wave)};
          plain_k[t * kHead] = k[t * kHead] = scores[kind];
        }
        for (int r = 0; r < rows; r++) q[r * kHead] = r % 3 == 1 ? -8 : 8;
        const Buffer<char> keys(keys_bytes(type, n)), values(values_bytes(type, n));
        kernels->pack_keys[int(type)]({k.data(), kHead, 0, n, padded, keys.data()});
        kernels->pack_values[int(type)]({v.data(), kHead, 0, n, padded, values.data()});
        std::vector<float> out(rows * kHead);
        kernels->attention[int(type)]({q.data(), kHead, rows, keys.data(), values.data(), n, out.data(), kHead});
        const std::vector<double> expected[] = {plain_attention(q.data(), plain_k, plain_v, n),
                                                plain_attention(q.data() + kHead, plain_k, plain_v, n)};
        double error = 0, size = 0;
        for (int r = 0; r < rows; r++) {
          const std::vector<double>& of_row = expected[r % 3 == 1];
          for (int d = 0; d < kHead; d++) {
            error += (out[r * kHead + d] - of_row[d]) * (out[r * kHead + d] - of_row[d]);
            size += of_row[d] * of_row[d];
          }
          float alone[kHead];
          kernels->attention[int(type)]({&q[r * kHead], kHead, 1, keys.data(), values.data(), n, alone, kHead});
          CHECK(std::equal(alone, alone + kHead, &out[r * kHead]));
        }
        CHECK(std::sqrt(error / size) < (type == Type::f32 ? 1e-4 : 3e-2));
      }
    }
  }
}

TEST_CASE("attention over a past that other rows wrote") {
  constexpr int kStoreRows = 3, kValues = kStoreRows * kTextContext * kHead;
  const std::vector<float> k = random_values(kValues, 13), v = random_values(kValues, 14), q = random_values(kHead, 15, 3);
  std::vector<uint8_t> table(kTextContext);
  for (int t = 0; t < kTextContext; t++) table[t] = static_cast<uint8_t>(t * 7 % 3);
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const Type type : kAllTypes) {
      if (!kernels->past_attention[int(type)]) continue;
      CAPTURE(int(type));
      const Buffer<char> keys(kValues * 4), values(kValues * 4);
      for (int64_t i = 0; i < kValues; i += kHead) {
        kernels->store_past[int(type)](k.data() + i, keys + i * group_bytes(type));
        kernels->store_past[int(type)](v.data() + i, values + i * group_bytes(type));
      }
      for (const int n : {1, 2, 5, 15, 16, 17, 64, 301, kTextContext}) {
        CAPTURE(n);
        std::vector<double> plain_k, plain_v;
        for (int t = 0; t < n; t++) {
          for (int d = 0; d < kHead; d++) {
            const int64_t at = (int64_t(table[t]) * kTextContext + t) * kHead + d;
            plain_k.push_back(stored_value(type, keys.data(), at));
            plain_v.push_back(stored_value(type, values.data(), at));
          }
        }
        const std::vector<double> expected = plain_attention(q.data(), plain_k, plain_v, n);
        float out[kHead];
        kernels->past_attention[int(type)]({q.data(), keys.data(), values.data(), table.data(), n, out});
        for (int d = 0; d < kHead; d++) CHECK(out[d] == doctest::Approx(expected[d]).epsilon(1e-5).scale(1));
      }
    }
  }
}

TEST_CASE("scans of logits find the sum, and the largest among few others") {
  constexpr float kNever = -INFINITY;
  for (const Kernels* kernels : kernels_to_test()) {
    CAPTURE(kernels->name);
    for (const int n : {1, 3, 15, 16, 17, 63, 64, 65, 1000, 1024}) {
      for (const int wanted : {1, 2, 6, 33}) {
        for (const bool ties : {false, true}) {
          std::vector<float> logits = random_values(n, 16 + n, 5);
          if (ties)
            for (float& x : logits) x = std::round(x / 4);
          for (int i = 2; i < n; i += 7) logits[i] = kNever;
          double peak = kNever, sum = 0;
          for (float x : logits) peak = std::max<double>(peak, x);
          for (float x : logits) sum += std::exp(x - peak);
          std::vector<int32_t> places(n);
          const LogitScan found = kernels->scan(logits.data(), n, wanted, places.data());
          CHECK(found.max == peak);
          CHECK(found.sum == doctest::Approx(sum).epsilon(1e-5));
          places.resize(found.n_places);
          std::vector<float> sorted, listed;
          for (float x : logits)
            if (x > kNever) sorted.push_back(x);
          std::sort(sorted.rbegin(), sorted.rend());
          const size_t at_least = std::min<size_t>(wanted, sorted.size());
          const float last = sorted[at_least - 1];
          std::vector<int32_t> expected;  // all that tie with the last wanted one, too: the lower token wins
          for (int i = 0; i < n; i++)
            if (logits[i] >= last) expected.push_back(i);
          CHECK(std::is_sorted(places.begin(), places.end()));
          CHECK(std::includes(places.begin(), places.end(), expected.begin(), expected.end()));
          for (int32_t place : places) CHECK(logits[place] > kNever);
          if (!ties && n == 1024 && wanted <= 6) CHECK(places.size() < 20);
        }
      }
    }
    const std::vector<float> masked(40, kNever);
    int32_t places[40];
    CHECK(kernels->scan(masked.data(), 40, 6, places).sum == 0);
    CHECK(kernels->scan(masked.data(), 40, 6, places).n_places == 0);
  }
}

}  // namespace
}  // namespace sotto::cpu
