#include "src/windows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/error.h"

using namespace sotto;

namespace {

// available() of a sound that is n_frames long.
auto sound_of(int64_t n_frames) {
  return [n_frames](int64_t first, int wanted) {
    return static_cast<int>(std::clamp<int64_t>(n_frames - first, 0, wanted));
  };
}

// All windows of a walk that goes on by whole windows, as (seek, frames).
std::vector<Window> walk(std::vector<double> times, int64_t n_frames) {
  Windows windows(clips_from_times(times), sound_of(n_frames));
  std::vector<Window> all;
  while (const auto window = windows.next()) {
    all.push_back(*window);
    windows.advance(window->n_frames);
  }
  return all;
}

using List = std::vector<Window>;

}  // namespace

TEST_CASE("times become clips of frames, rounded half to even") {
  CHECK(clips_from_times({}) == std::vector<Clip>{{0, kToTheEnd}});
  CHECK(clips_from_times(std::vector<double>{0}) == std::vector<Clip>{{0, kToTheEnd}});
  CHECK(clips_from_times(std::vector<double>{1.5, 2.25, 10}) == std::vector<Clip>{{150, 225}, {1000, kToTheEnd}});
  CHECK(clips_from_times(std::vector<double>{0.005, 0.015, 1.005, 2.675}) == std::vector<Clip>{{0, 2}, {100, 268}});
}

TEST_CASE("times that are negative, no numbers or going back are refused") {
  CHECK_THROWS_AS(clips_from_times(std::vector<double>{-5}), Error);
  CHECK_THROWS_AS(clips_from_times(std::vector<double>{NAN}), Error);
  CHECK_THROWS_AS(clips_from_times(std::vector<double>{INFINITY}), Error);
  CHECK_THROWS_AS(clips_from_times(std::vector<double>{10, 5}), Error);
  CHECK_THROWS_AS(clips_from_times(std::vector<double>{0, 10, 5, 20}), Error);
}

TEST_CASE("windows of 30 s cover the sound, the last one what is left") {
  CHECK(walk({}, 6500) == List{{0, 3000}, {3000, 3000}, {6000, 500}});
  CHECK(walk({}, 1) == List{{0, 1}});
  CHECK(walk({}, 0) == List{});
}

TEST_CASE("sound of exactly 30 s is one window") {
  CHECK(walk({}, 3000) == List{{0, 3000}});
  CHECK(walk({}, 2999) == List{{0, 2999}});
  CHECK(walk({}, 3001) == List{{0, 3000}, {3000, 1}});
}

TEST_CASE("clips bound the windows, and the sound bounds the clips") {
  CHECK(walk({10, 50, 60}, 7000) == List{{1000, 3000}, {4000, 1000}, {6000, 1000}});
  CHECK(walk({10, 500}, 2000) == List{{1000, 1000}});
  CHECK(walk({90}, 1100) == List{});
  CHECK(walk({90, 95, 96, 99}, 1100) == List{});
}

TEST_CASE("empty clips are passed over") {
  CHECK(walk({5, 5, 7, 8}, 3000) == List{{700, 100}});
}

TEST_CASE("a window may go on from inside, and past its clip's end") {
  Windows windows(clips_from_times(std::vector<double>{0, 10, 20, 25}), sound_of(6000));
  CHECK(*windows.next() == Window{0, 1000});
  windows.advance(512);
  CHECK(*windows.next() == Window{512, 488});
  windows.advance(1200);  // timestamps can lie behind the end of a short window
  CHECK(*windows.next() == Window{2000, 500});
  windows.advance(500);
  CHECK(!windows.next());
}
