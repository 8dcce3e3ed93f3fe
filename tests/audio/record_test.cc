// Recordings, read back by ffmpeg.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "audio/record.h"
#include "models/error.h"
#include "temporary.h"

using namespace sotto;

namespace {

// Samples of so many bits.
std::vector<float> noise_of(int n, int bits, unsigned seed = 1) {
  std::vector<float> samples(n);
  const float scale = static_cast<float>(1 << (bits - 1));
  for (float& sample : samples) {
    seed = seed * 1664525 + 1013904223;
    sample = static_cast<float>(static_cast<int32_t>(seed) >> (32 - bits)) / scale;
  }
  return samples;
}

bool has_ffmpeg() { return std::system("ffmpeg -version >/dev/null 2>&1") == 0; }

// What the file holds; ffmpeg's complaints about an end that is missing are no matter.
std::vector<float> read_back(const std::string& path) {
  const std::string raw = path + ".raw";
  std::system(("ffmpeg -v quiet -y -i " + path + " -f f32le " + raw).c_str());
  std::ifstream file(raw, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), samples.size() * sizeof(float), reinterpret_cast<char*>(samples.data()));
  return samples;
}

void write_in_pieces(Recorder& recorder, const std::vector<float>& samples) {
  for (size_t at = 0, n = 1; at < samples.size(); at += n, n = n * 7 % 1601 + 1)
    recorder.write(std::span(samples).subspan(at, std::min(n, samples.size() - at)));
}

#define NEED_FFMPEG() \
  if (!has_ffmpeg()) { MESSAGE("skipped: ffmpeg is not here"); return; }

}  // namespace

TEST_CASE("a recording holds every sample as it was captured, at 16 bits and at 24") {
  NEED_FFMPEG();
  const TemporaryFolder folder;
  for (const int bits : {16, 24}) {
    const std::string path = folder.path() + "/" + std::to_string(bits) + ".flac";
    const std::vector<float> samples = noise_of(100003, bits);
    Recorder recorder(path);
    write_in_pieces(recorder, samples);
    recorder.finish();
    CHECK(recorder.take_notices().empty());
    CHECK(read_back(path) == samples);
  }
  const auto size = [&](int bits) { return std::filesystem::file_size(folder.path() + "/" + std::to_string(bits) + ".flac"); };
  CHECK(size(16) < size(24) * 3 / 4);  // low bits that are never used take no room
  // its length is in the file
  CHECK(std::system(("ffprobe -v error -show_entries format=duration " + folder.path() + "/16.flac | grep -q 6.250").c_str()) ==
        0);
}

TEST_CASE("a recording of nothing is a file that can be read; what is out of range is clipped") {
  NEED_FFMPEG();
  const TemporaryFolder folder;
  Recorder(folder.path() + "/empty.flac").finish();
  CHECK(std::system(("ffprobe -v error " + folder.path() + "/empty.flac").c_str()) == 0);
  Recorder recorder(folder.path() + "/loud.flac");
  recorder.write(std::vector<float>{2.0f, -2.0f, std::nanf(""), INFINITY, 0.5f});
  recorder.finish();
  const std::vector<float> samples = read_back(folder.path() + "/loud.flac");
  REQUIRE(samples.size() == 5);
  CHECK(samples[0] == doctest::Approx(1).epsilon(1e-6));
  CHECK(samples[1] == -1);
  CHECK(samples[2] == 0);
  CHECK(samples[4] == 0.5f);
}

TEST_CASE("a recording is not written over, and a folder that isn't there is told") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/once.flac";
  Recorder(path).finish();
  CHECK_THROWS_AS(Recorder{path}, Error);
  CHECK_THROWS_AS(Recorder{folder.path() + "/no/such.flac"}, Error);
}

TEST_CASE("kill -9 costs a fraction of a second of a recording") {
  NEED_FFMPEG();
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/killed.flac";
  const std::vector<float> samples = noise_of(16000 * 4, 16);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    Recorder recorder(path);
    recorder.write(samples);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  const std::vector<float> left = read_back(path);
  CHECK(left.size() > samples.size() - 16000 / 3);
  REQUIRE(left.size() <= samples.size());
  CHECK(std::equal(left.begin(), left.end(), samples.begin()));
}

TEST_CASE("a disk that is full or slow: the capture doesn't wait, what fits comes later, what is lost is silence and told") {
  NEED_FFMPEG();
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/full.flac";
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const std::vector<float> second = noise_of(16000, 16);
  Recorder recorder(path);
  const rlimit full = {20000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) recorder.write(second);  // more than waits for a disk
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::vector<std::string> notices = recorder.take_notices();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].find(path) != std::string::npos);
  setrlimit(RLIMIT_FSIZE, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  for (int i = 0; i < 5; ++i) recorder.write(second);
  CHECK_THROWS_AS(recorder.finish(), Error);  // it lacks something
  const std::vector<float> samples = read_back(path);
  REQUIRE(samples.size() == 45 * 16000);  // but no time
  int n_right = 0, n_silent = 0;
  for (int i = 0; i < 45; ++i) {
    const auto at = samples.begin() + i * 16000;
    n_right += std::equal(at, at + 16000, second.begin());
    n_silent += std::all_of(at, at + 16000, [](float x) { return x == 0; });
  }
  CHECK(n_right + n_silent == 45);
  CHECK(n_right >= 37);
  CHECK(n_silent > 0);
}
