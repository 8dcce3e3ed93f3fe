// The encoder's products of bytes, and the norm that makes them, against plain sums of the very bytes and scales.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda/encoder_model.h"
#include "kernels/reference/ops.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

const EncoderModel<f16>& model(int width) {
  static std::map<int, std::unique_ptr<EncoderModel<f16>>> models;
  auto& found = models[width];
  if (!found) found = std::make_unique<EncoderModel<f16>>(Dims{width, width / kHead, 1, 1, 80, 64}, true);
  return *found;
}

constexpr int kColumns = kScaled;  // of the first block

struct Case {
  Product product;
  int width, m, k, n;
  const ProductWeights &there, &host;
  std::vector<int8_t> a;       // [m][k]
  std::vector<float> a_scales;  // [k / 128][m]
  std::vector<float> before;   // x [m][width]
  Half half;                   // of queries, keys and values

  Case(Product product, int width, int m, Half half = Half::f16)
      : product(product), width(width), m(m), k(product_k(product, width, 80)), n(product_n(product, width, 0)),
        there(of(model(width).device)), host(of(model(width).host)), a(int64_t{m} * k), a_scales(k / kScaled * m), half(half) {
    std::mt19937 random(5);
    for (int8_t& value : a) value = static_cast<int8_t>(int(random() % 255) - 127);
    for (float& scale : a_scales) scale = (1 + random() % 1000 / 500.0f) / 127;
    if (product == Product::fc2) before = random_halves<f16>(int64_t{m} * width, 6);
  }

  const ProductWeights& of(const EncoderWeights& weights) const {
    const EncoderLayerWeights& layer = weights.layers[0];
    return product == Product::qkv ? layer.qkv : product == Product::fc1 ? layer.fc1 : layer.fc2;
  }

  // [m][kColumns], before it is put anywhere.
  std::vector<float> expected() const {
    const auto* w = static_cast<const int8_t*>(host.w);
    const int run = column_run(product);
    std::vector<float> y;
    for (int row = 0; row < m; row++) {
      for (int column = 0; column < kColumns; column++) {
        const int place = mma_column(column, run);
        double sum = host.bias[bias_place(column, run)];
        for (int group = 0; group < k / kScaled; group++) {
          int products = 0;
          for (int i = group * kScaled; i < (group + 1) * kScaled; i++) {
            products += a[int64_t{row} * k + i] * w[int64_t{place} * k + i];
          }
          sum += double(products) * a_scales[group * m + row] * host.scales[int64_t{group} * n + place];
        }
        if (product == Product::qkv) sum *= kQueryScale;
        if (product == Product::fc1) sum *= 0.5 * (1 + std::erf(sum / std::sqrt(2.0)));
        if (product == Product::fc2) sum += before[int64_t{row} * width + column];
        y.push_back(static_cast<float>(sum));
      }
    }
    return y;
  }

  void start(void* to, float* to_scales) const {
    const DeviceArray<int8_t> a_there(a);
    const DeviceArray<float> a_scales_there(a_scales);
    LaunchShape shape = product_s8_shape(product, width, m);
    shape.grid_x = 1;
    launch(product_s8_kernel(product, width, half).c_str(), shape,
           ProductS8Args{{a_there.data(), there.w, there.bias, to, m, nullptr, nullptr, nullptr, 0},
                         a_scales_there.data(), there.scales, to_scales});
  }

  // Launches, and compares with `right`.
  void check(const std::vector<float>& right) const {
    INFO(product_s8_kernel(product, width, half));
    if (product == Product::fc1) {
      DeviceArray<int8_t> to(int64_t{m} * n);
      DeviceArray<float> to_scales(m);
      start(to.data(), to_scales.data());
      check_bytes(to.host(), to_scales.host(), right, n);
      return;
    }
    std::vector<float> y;
    if (product == Product::fc2) {
      DeviceArray<float> x(before);
      start(x.data(), nullptr);
      const std::vector<float> all = x.host();
      for (int row = 0; row < m; row++) y.insert(y.end(), &all[row * width], &all[row * width + kColumns]);
    } else {
      y = half == Half::f16 ? queries<f16>() : queries<bf16>();
    }
    // Sums of bytes are exact; the rest as for the other products.
    CHECK(relative_error(y, right) < (product == Product::fc2 ? 5e-6 : half == Half::f16 ? 0x1p-12 : 0x1p-9));
  }

  // The first columns of qkv, as a launch leaves them.
  template <class T>
  std::vector<float> queries() const {
    DeviceArray<T> qkv(int64_t{3} * width * kRows);
    start(qkv.data(), nullptr);
    const std::vector<T> all = qkv.host();
    std::vector<float> y;
    for (int row = 0; row < m; row++) {
      for (int c = 0; c < kColumns; c++) y.push_back(to_float(all[c / kHead * kHeadSize + row * kHead + c % kHead]));
    }
    return y;
  }

  // Bytes [m][columns] of which the first 128 share scales [m]: the scale is what the largest asks for, and no value is
  // off by more than half a step.
  static void check_bytes(const std::vector<int8_t>& bytes, const std::vector<float>& scales,
                          const std::vector<float>& right, int columns) {
    for (size_t row = 0; row < scales.size(); row++) {
      const float* expected = &right[row * kScaled];
      float most = 0, worst = 0;
      for (int c = 0; c < kScaled; c++) {
        most = std::max(most, std::abs(expected[c]));
        worst = std::max(worst, std::abs(bytes[row * columns + c] * scales[row] - expected[c]));
      }
      REQUIRE(scales[row] == doctest::Approx(most / 127).epsilon(1e-5));
      REQUIRE(worst < 0.501f * scales[row]);
    }
  }
};

constexpr Product kProducts[] = {Product::qkv, Product::fc1, Product::fc2};

}  // namespace

TEST_CASE("products of bytes: all schedules") {
  for (const Product product : kProducts) {
    const Case c(product, 384, 133);
    const std::vector<float> expected = c.expected();
    for_each_schedule([&] { c.check(expected); });
  }
}

TEST_CASE("products of bytes: every width") {
  for (const int width : widths()) {
    for (const Product product : kProducts) {
      const Case c(product, width, 40);
      one_schedule([&] { c.check(c.expected()); });
    }
    const Case wide(Product::qkv, width, 40, Half::bf16);
    one_schedule([&] { wide.check(wide.expected()); });
  }
}

TEST_CASE("products of bytes: what they move and multiply is what their header says") {
  if (on_hardware()) return;
  for (const Product product : kProducts) {
    const Case c(product, 384, 128);
    INFO(product_s8_kernel(product, 384, Half::f16));
    const simt::Counters counted = count([&] { c.check(c.expected()); });
    CHECK(counted.mma_operations == int64_t{2} * 128 * 128 * c.k);
    CHECK(counted.shared_wavefronts == counted.shared_wavefronts_ideal);
    CHECK(counted.sectors_read == counted.sectors_read_ideal);
    CHECK(counted.sectors_written == counted.sectors_written_ideal);
    CHECK(counted.global_read >= 2 * 128 * c.k);  // and scales, biases, what the residual stream holds
    CHECK(counted.global_read < 1.5 * (2 * 128 * c.k + counted.global_written + 128 * 4 * 8 * 4));
  }
}

TEST_CASE("layer norm in bytes: every width, all schedules") {
  for (const int width : widths()) {
    constexpr int kM = 7;
    const std::vector<float> weight = random_halves<f16>(width, 1, 0.1f, 1), bias = random_halves<f16>(width, 2, 0.1f);
    const std::vector<float> x = random_halves<f16>(int64_t{kM} * width, 3, 4, 2);
    std::vector<float> expected(x.size());
    Team team(1);
    reference::layer_norm(team, {weight, bias}, x.data(), kM, width, expected.data());
    const DeviceArray<float> x_there(x), weight_there(weight), bias_there(bias);
    for_each_schedule([&] {
      DeviceArray<int8_t> y(x.size());
      DeviceArray<float> scales(width / kScaled * kM);
      launch(layer_norm_s8_kernel(width).c_str(), layer_norm_shape(kM),
             LayerNormArgs{x_there.data(), weight_there.data(), bias_there.data(), y.data(), kM, scales.data()});
      const std::vector<int8_t> bytes = y.host();
      const std::vector<float> all_scales = scales.host();
      for (int group = 0; group < width / kScaled; group++) {
        std::vector<int8_t> part;
        std::vector<float> right;
        for (int row = 0; row < kM; row++) {
          const int64_t at = int64_t{row} * width + group * kScaled;
          part.insert(part.end(), &bytes[at], &bytes[at] + kScaled);
          right.insert(right.end(), &expected[at], &expected[at] + kScaled);
        }
        Case::check_bytes(part, {&all_scales[group * kM], &all_scales[group * kM] + kM}, right, kScaled);
      }
    });
  }
}
