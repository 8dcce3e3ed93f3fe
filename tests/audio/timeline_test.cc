// Placing frames on the container's clock, without any container.
#include "audio/timeline.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

using namespace sotto;

namespace {

constexpr int kRate = 48000;
constexpr int64_t kFrame = 1024;

struct Total {
  int64_t silence = 0, drop = 0;
  int jumps = 0;
};

// Frames of kFrame samples with these stamps, in samples.
Total place_all(Timeline& timeline, const std::vector<int64_t>& stamps) {
  Total total;
  for (size_t i = 0; i < stamps.size(); ++i) {
    std::optional<int64_t> next;
    if (i + 1 < stamps.size()) next = stamps[i + 1];
    const Timeline::Placement placement = timeline.place(kRate, kFrame, stamps[i], next);
    total.silence += placement.silence;
    total.drop += placement.drop;
    total.jumps += placement.broken_jump_s != 0.0;
  }
  return total;
}

std::vector<int64_t> steady(int n, int64_t first = 0) {
  std::vector<int64_t> stamps;
  for (int i = 0; i < n; ++i) stamps.push_back(first + i * kFrame);
  return stamps;
}

std::vector<int64_t> operator+(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("stamps rounded to milliseconds move no sample in ten hours") {
  Timeline timeline(std::nullopt);
  std::vector<int64_t> stamps;
  for (int64_t i = 0; i < 10 * 3600 * kRate / kFrame; ++i) {
    stamps.push_back(std::llround(std::floor(i * kFrame * 1000.0 / kRate)) * kRate / 1000);
  }
  const Total total = place_all(timeline, stamps);
  CHECK(total.silence == 0);
  CHECK(total.drop == 0);
  CHECK(timeline.now_s() == doctest::Approx(static_cast<double>(stamps.size() * kFrame) / kRate));
}

TEST_CASE("jitter of half a frame moves no sample") {
  Timeline timeline(std::nullopt);
  std::vector<int64_t> stamps = steady(1000);
  for (size_t i = 0; i < stamps.size(); ++i) stamps[i] += i % 3 * (kFrame / 2);
  const Total total = place_all(timeline, stamps);
  CHECK(total.silence + total.drop == 0);
}

TEST_CASE("a late start and a gap become silence of exactly that length") {
  Timeline timeline(std::nullopt);
  const Total total = place_all(timeline, steady(10, 72000) + steady(10, 200000));
  CHECK(total.silence == 200000 - 10 * kFrame);
  CHECK(timeline.now_s() == doctest::Approx((200000.0 + 10 * kFrame) / kRate));
}

TEST_CASE("a clock that drifts is followed before it is 50 ms off") {
  Timeline timeline(std::nullopt);
  std::vector<int64_t> stamps = steady(5000);
  for (size_t i = 0; i < stamps.size(); ++i) stamps[i] += static_cast<int64_t>(i) * 3;  // 3 samples in each frame
  const Total total = place_all(timeline, stamps);
  CHECK(std::abs(timeline.now_s() - (stamps.back() + kFrame) / double{kRate}) < 0.05);
  CHECK(total.silence > 10000);
}

TEST_CASE("an overlap is dropped") {
  Timeline timeline(std::nullopt);
  const Total total = place_all(timeline, steady(20) + steady(20, 20 * kFrame - 4000));
  CHECK(total.drop == 4000);
  CHECK(total.silence == 0);
}

TEST_CASE("one wrong stamp is not followed, wherever it points") {
  for (int64_t wrong : {int64_t{1} << 50, int64_t{-1} << 50, int64_t{100} * kRate, int64_t{-100} * kRate}) {
    Timeline timeline(std::nullopt);
    std::vector<int64_t> stamps = steady(40);
    stamps[20] = wrong;
    const Total total = place_all(timeline, stamps);
    CHECK(total.silence + total.drop == 0);
    CHECK(timeline.now_s() == doctest::Approx(40.0 * kFrame / kRate));
  }
}

TEST_CASE("a clock set anew joins the sound, days ahead or back, and keeps every sample") {
  for (int64_t jump : {int64_t{10} * 86400 * kRate, int64_t{-3600} * kRate}) {
    Timeline timeline(std::nullopt);
    const Total total = place_all(timeline, steady(40) + steady(40, 40 * kFrame + jump));
    CHECK(total.silence + total.drop == 0);
    CHECK(total.jumps == 1);
    CHECK(timeline.now_s() == doctest::Approx(80.0 * kFrame / kRate));
  }
}

TEST_CASE("hours of pause are believed only of a container that is that long") {
  const int64_t gap = int64_t{2} * 3600 * kRate;
  const auto stamps = steady(40) + steady(40, 40 * kFrame + gap);
  Timeline known(7202.0), unknown(std::nullopt), short_one(10.0);
  CHECK(place_all(known, stamps).silence == gap);
  CHECK(place_all(unknown, stamps).silence == 0);
  CHECK(place_all(short_one, stamps).silence == 0);
}

TEST_CASE("a change of rate keeps the clock") {
  Timeline timeline(std::nullopt);
  timeline.place(48000, 48000, 0, std::nullopt);
  const auto placement = timeline.place(16000, 16000, 16000, std::nullopt);
  CHECK(placement.silence + placement.drop == 0);
  CHECK(timeline.now_s() == doctest::Approx(2.0));
}
