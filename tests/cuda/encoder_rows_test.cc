// The encoder's kernels that go over rows: LayerNorm and the mel's conversion.
#include <vector>

#include "cuda/encoder_model.h"
#include "kernels/reference/ops.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

template <class T>
void check_layer_norm(int width, int m) {
  const std::vector<float> weight = random_halves<T>(width, 1, 0.1f, 1), bias = random_halves<T>(width, 2, 0.1f);
  const std::vector<float> x = random_halves<T>(int64_t{m} * width, 3, 4, 2);
  std::vector<float> expected(x.size());
  Team team(1);
  reference::layer_norm(team, {weight, bias}, x.data(), m, width, expected.data());

  INFO(layer_norm_kernel(width, kHalf<T>));
  const DeviceArray<float> x_there(x), weight_there(weight), bias_there(bias);
  DeviceArray<T> y(x.size());
  launch(layer_norm_kernel(width, kHalf<T>).c_str(), layer_norm_shape(m),
         LayerNormArgs{x_there.data(), weight_there.data(), bias_there.data(), y.data(), m});
  // One rounding to T: 2^-8 of a value at most for bf16, 2^-11 for f16, less than half of that on average.
  CHECK(relative_error(floats_of(y.host()), expected) < (kSame<T, f16> ? 0x1p-12 : 0x1p-9));
}

}  // namespace

TEST_CASE("layer norm: every width and type, all schedules, rows that do not fill the last block") {
  for (const int width : widths()) {
    for_each_schedule([&] {
      check_layer_norm<f16>(width, 9);
      check_layer_norm<bf16>(width, 6);
    });
  }
}

TEST_CASE("layer norm: bytes moved are those of x and y, in whole sectors") {
  if (on_hardware()) return;
  constexpr int kM = 64, kWidth = 384;
  const std::vector<float> ones(kWidth, 1);
  const DeviceArray<float> x(std::vector<float>(kM * kWidth, 1)), weight(ones), bias(ones);
  DeviceArray<f16> y(kM * kWidth);
  const simt::Counters c = count([&] {
    launch(layer_norm_kernel(kWidth, Half::f16).c_str(), layer_norm_shape(kM),
           LayerNormArgs{x.data(), weight.data(), bias.data(), y.data(), kM});
  });
  CHECK(c.global_written == kM * kWidth * 2);
  CHECK(c.global_read == kM * kWidth * (4 + 2 * 4));  // weight and bias once for each row, from the first cache
  CHECK(c.sectors_read == c.sectors_read_ideal);
  CHECK(c.sectors_written == c.sectors_written_ideal);
}

TEST_CASE("mel operand: frames stand one row down, and nothing else is touched") {
  for (const int bins : {80, 128}) {
    constexpr int kWindows = 2;
    const std::vector<float> mel = random_halves<f16>(int64_t{kWindows} * kMelFrames * bins, 5);
    std::vector<float> expected(int64_t{kWindows} * kFrameRows * bins, 0.0f);
    for (int window = 0; window < kWindows; window++) {
      std::copy_n(mel.begin() + int64_t{window} * kMelFrames * bins, kMelFrames * bins,
                  expected.begin() + (int64_t{window} * kFrameRows + 1) * bins);
    }
    const DeviceArray<float> mel_there(mel);
    DeviceArray<f16> to(expected.size());
    to.fill(0);
    one_schedule([&] {
      launch(mel_operand_kernel(Half::f16).c_str(), mel_operand_shape(kWindows, bins),
             MelOperandArgs{mel_there.data(), to.data(), bins});
    });
    CHECK(floats_of(to.host()) == expected);
  }
}
