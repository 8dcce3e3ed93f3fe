// Windows and sound from a source that is read ahead, and from one that streams.
#include "audio/features.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "models/error.h"

using namespace sotto;

namespace {

// Noise whose second s has loudness(s).
template <typename Loudness>
std::vector<float> noise(int seconds, int more, Loudness loudness) {
  std::vector<float> sound(seconds * kSampleRate + more);
  uint32_t state = 1;
  for (size_t i = 0; i < sound.size(); ++i) {
    state = state * 1664525 + 1013904223;
    const int sample = static_cast<int>(loudness(static_cast<int>(i / kSampleRate)) * (int(state >> 16) - 32768));
    sound[i] = sample / 32768.0f;
  }
  return sound;
}

std::function<bool(Pcm&)> source(const std::vector<float>& sound, int64_t stretch) {
  return [&sound, stretch, at = int64_t{0}](Pcm& out) mutable {
    const int64_t n = std::min<int64_t>(stretch, std::ssize(sound) - at);
    out.start = at;
    out.samples.assign(sound.begin() + at, sound.begin() + at + n);
    at += n;
    return n > 0;
  };
}

std::vector<float> plain_window(const std::vector<float>& sound, int64_t first, int n_frames) {
  LogMel mel(80);
  mel.push(sound);
  mel.finish();
  Mel out;
  mel.window(first, n_frames, mel.maximum(), out);
  return out.values;
}

long resident_kb() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace

TEST_CASE("read ahead: the clamp's maximum is the whole file's") {
  const std::vector<float> sound = noise(70, 123, [](int s) { return s == 65 ? 0.9 : 0.001; });
  Features features(source(sound, 16000), true, 80);
  CHECK(features.whole());
  CHECK(features.n_samples() == std::ssize(sound));
  Mel mel;
  for (int64_t first : {0, 0, 2950, 5000}) {
    const int n = features.available(first, 3000);
    CHECK(n == std::min<int64_t>(3000, 7000 - first));
    features.window(first, n, mel);
    CHECK(mel.values == plain_window(sound, first, n));
  }
  CHECK(features.available(6990, 3000) == 10);
  CHECK(features.available(7000, 3000) == 0);
  CHECK(features.available(9000, 3000) == 0);
}

TEST_CASE("a stream's maximum is that of the frames asked for, however it is cut") {
  const std::vector<float> sound = noise(70, 123, [](int s) { return s >= 35 ? 0.9 : s >= 20 ? 0.01 : 0.001; });
  std::vector<float> first_window;
  for (int64_t stretch : {777, 16000, 300000}) {
    Features features(source(sound, stretch), false, 80);
    CHECK_FALSE(features.whole());
    REQUIRE(features.available(0, 3000) == 3000);
    CHECK(features.n_samples() < 480040 + stretch);
    Mel mel;
    features.window(0, 3000, mel);
    if (first_window.empty()) first_window = mel.values;
    CHECK(mel.values == first_window);
    CHECK(first_window != plain_window(sound, 0, 3000));

    REQUIRE(features.available(5000, 3000) == 2000);  // to the end: the maximum is the whole sound's
    CHECK(features.whole());
    features.window(5000, 2000, mel);
    CHECK(mel.values == plain_window(sound, 5000, 2000));
  }
}

TEST_CASE("sound comes back as it went in") {
  const std::vector<float> sound = noise(50, 7, [](int) { return 0.9; });
  for (bool read_ahead : {false, true}) {
    Features features(source(sound, 16000), read_ahead, 80);
    std::vector<float> part(32000);
    features.sound(16000, 32000, part.data());
    CHECK(std::equal(part.begin(), part.end(), sound.begin() + 16000));
    Mel mel;
    REQUIRE(features.available(4000, 1000) == 1000);
    features.window(4000, 1000, mel);
    features.sound(4000 * 160 - 480000, 32000, part.data());
    CHECK(std::equal(part.begin(), part.end(), sound.begin() + 160000));
    features.sound(std::ssize(sound) - 10, 32000, part.data());
    CHECK(std::equal(part.begin(), part.begin() + 10, sound.end() - 10));
    CHECK(std::count(part.begin() + 10, part.end(), 0.0f) == 31990);
  }
}

TEST_CASE("empty and tiny sound") {
  for (bool read_ahead : {false, true}) {
    const std::vector<float> empty, tiny = {0.5f, -0.25f};
    Features nothing(source(empty, 100), read_ahead, 80);
    CHECK(nothing.available(0, 3000) == 0);
    CHECK(nothing.whole());
    Features something(source(tiny, 100), read_ahead, 80);
    REQUIRE(something.available(0, 3000) == 1);
    Mel mel;
    something.window(0, 1, mel);
    CHECK(mel.values == plain_window(tiny, 0, 1));
  }
}

TEST_CASE("sound that begins late on the timeline has silence before it") {
  const std::vector<float> sound(1600, 0.5f);
  bool done = false;
  auto late = [&](Pcm& out) {
    out = {800, sound};
    return !std::exchange(done, true);
  };
  Features features(late, true, 80);
  CHECK(features.n_samples() == 2400);
  float around[2];
  features.sound(799, 2, around);
  CHECK(around[0] == 0.0f);
  CHECK(around[1] == 0.5f);
}

TEST_CASE("sound longer than memory may hold goes to a file and comes back") {
  const std::vector<float> sound = noise(20 * 60, 5, [](int s) { return s % 7 == 0 ? 0.8 : 0.05; });
  Features features(source(sound, 16000), true, 80);
  std::vector<float> part(160000);
  for (int64_t first : {0L, (1L << 24) - 70000, (1L << 24) + 1, std::ssize(sound) - 160000, 5L}) {
    features.sound(first, 160000, part.data());
    CHECK(std::equal(part.begin(), part.end(), sound.begin() + first));
  }
  Mel mel;
  REQUIRE(features.available(104000, 3000) == 3000);
  features.window(104000, 3000, mel);
  const std::vector<float> wanted = plain_window(sound, 104000, 3000);
  CHECK(mel.values == wanted);
}

TEST_CASE("no room for the temporary file is one sentence") {
  const std::vector<float> sound(18 * 60 * kSampleRate);
  auto message = [&] {
    try {
      Features features(source(sound, 160000), true, 80);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const char* old = std::getenv("TMPDIR");
  const std::string saved = old ? old : "";
  setenv("TMPDIR", "/nonexistent/folder", 1);
  CHECK(message().find("/nonexistent/folder") != std::string::npos);
  old ? setenv("TMPDIR", saved.c_str(), 1) : unsetenv("TMPDIR");

  // A limit on file sizes behaves as a full disk does.
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small = {1 << 20, limit.rlim_max};
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string full = message();
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(full.find("can't write a temporary file") != std::string::npos);
  CHECK(full.find("set TMPDIR") != std::string::npos);
}

TEST_CASE("hours through a pipe take no memory that grows") {
  auto hours_of_zeros = [left = 2 * 3600](Pcm& out) mutable {
    out.start = int64_t{2 * 3600 - left} * kSampleRate;
    out.samples.assign(kSampleRate, 0.0f);
    return left-- > 0;
  };
  Features features(hours_of_zeros, false, 80);
  Mel mel;
  int64_t seek = 0;
  [[maybe_unused]] long after_20_minutes = 0;
  std::vector<float> part(480000);
  while (const int n = features.available(seek, kMelFrames)) {
    features.sound(seek * kMelHop, 480000, part.data());
    if (seek < 60 * 60 * 100) features.window(seek, n, mel);  // the second hour is skipped
    seek += n;
    if (seek == 20 * 60 * 100) after_20_minutes = resident_kb();
  }
  CHECK(seek == 2 * 3600 * 100);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(resident_kb() - after_20_minutes < 80 * 1024);  // all of it would be 460 MB
#endif
}
