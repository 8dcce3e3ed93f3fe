// The encoder's attention against the plain network's.
#include <vector>

#include "cuda/encoder_model.h"
#include "kernels/reference/ops.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

// Two windows would only repeat the first: what differs is a head, and a window's place.
template <class T>
struct Case {
  int windows, heads;
  std::vector<float> qkv;       // as the kernel is given it
  std::vector<float> expected;  // [windows][1500][heads * 64]

  Case(int windows, int heads) : windows(windows), heads(heads) {
    const int64_t part = heads * kHeadSize, width = heads * kHead;
    qkv = random_halves<T>(windows * 3 * part, 9);
    Team team(0);
    for (int window = 0; window < windows; window++) {
      std::vector<float> q(kAudioContext * width), k(q.size()), v(q.size()), y(q.size());
      for (int head = 0; head < heads; head++) {
        for (int t = 0; t < kAudioContext; t++) {
          const float* from = qkv.data() + window * 3 * part + head * kHeadSize + t * kHead;
          const int64_t to = t * width + head * kHead;
          for (int d = 0; d < kHead; d++) {
            q[to + d] = from[d] * 0.6931472f;  // scores are in base 2
            k[to + d] = from[part + d];
            v[to + d] = from[2 * part + mma_column(d, 8)];
          }
        }
      }
      std::vector<float> panels(reference::key_panels_size(heads, kAudioContext));
      reference::pack_keys(team, k.data(), width, heads, kAudioContext, panels.data());
      std::vector<float> scratch(team.threads() * reference::attention_scratch(kAudioContext));
      reference::attention(team, q.data(), width, kAudioContext, panels.data(), v.data(), width, heads, kAudioContext,
                           scratch.data(), nullptr, y.data());
      expected.insert(expected.end(), y.begin(), y.end());
    }
  }

  std::vector<float> run(int queries) const {
    const DeviceArray<T> qkv_there(narrowed<T>(qkv));
    const int64_t width = heads * kHead;
    DeviceArray<T> y(windows * kRows * width);
    launch(encoder_attention_kernel(kHalf<T>, queries).c_str(), encoder_attention_shape(windows, heads, queries),
           EncoderAttentionArgs{qkv_there.data(), y.data(), heads});
    const std::vector<float> all = floats_of(y.host());
    std::vector<float> rows;
    for (int window = 0; window < windows; window++) {
      const auto first = all.begin() + window * kRows * width;
      rows.insert(rows.end(), first, first + kAudioContext * width);
    }
    return rows;
  }
};

// The softmax's numerators are rounded to T before they are multiplied, at random (2^-8 or 2^-11 at most of each), and
// so is y once: less than half of that on average, twice.
template <class T>
constexpr double kBound = kSame<T, f16> ? 0x1p-11 : 0x1p-8;

}  // namespace

TEST_CASE("encoder attention: all schedules") {
  const Case<f16> c(1, 1);
  for (const int queries : {64, 128}) {
    INFO(queries << " queries");
    for_each_schedule([&] { CHECK(relative_error(c.run(queries), c.expected) < kBound<f16>); });
  }
}

TEST_CASE("encoder attention: bf16, heads and windows") {
  const Case<bf16> c(2, 2);
  one_schedule([&] { CHECK(relative_error(c.run(128), c.expected) < kBound<bf16>); });
}

TEST_CASE("encoder attention: y does not depend on the queries of a block") {
  const Case<f16> c(1, 1);
  one_schedule([&] { CHECK(c.run(64) == c.run(128)); });
}

TEST_CASE("encoder attention: keys past 1500 take no part, large scores do not overflow") {
  Case<f16> c(1, 1);
  std::vector<float> other = c.qkv;
  for (int t = kAudioContext; t < kRows; t++) {
    for (int d = 0; d < kHead; d++) {
      other[kHeadSize + t * kHead + d] = 300;
      other[2 * kHeadSize + t * kHead + d] = -300;
    }
  }
  const std::vector<float> before = c.run(64);
  std::swap(c.qkv, other);
  CHECK(c.run(64) == before);
  for (size_t i = 0; i < kHeadSize; i++) c.qkv[i] *= 64;  // scores of some 500: one key takes all
  for (const float value : c.run(128)) REQUIRE(std::abs(value) < 10);
}

TEST_CASE("encoder attention: what it moves and multiplies is what its header says") {
  if (on_hardware()) return;
  const Case<f16> c(1, 1);
  for (const int queries : {64, 128}) {
    const simt::Counters counted = count([&] { c.run(queries); });
    const int64_t blocks = ceil_div(kRows, queries);
    CHECK(counted.mma_operations == 4 * blocks * queries * kRows * kHead);
    CHECK(counted.global_read == blocks * (queries + 2 * kRows) * kHead * 2);
    CHECK(counted.global_written == kRows * kHead * 2);
    CHECK(counted.sectors_read == counted.sectors_read_ideal);
    CHECK(counted.sectors_written == counted.sectors_written_ideal);
    CHECK(counted.shared_wavefronts == counted.shared_wavefronts_ideal);
  }
}

TEST_CASE("full: encoder attention: heads of every width") {
  for (const int heads : {6, 8, 12, 16, 20}) {
    const Case<f16> c(1, heads);
    one_schedule([&] { CHECK(relative_error(c.run(heads % 4 == 0 ? 128 : 64), c.expected) < kBound<f16>); });
  }
}
