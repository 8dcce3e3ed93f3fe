#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>
#include <thread>

#include "audio/decode.h"
#include "audio/live_source.h"
#include "audio/microphone.h"
#include "audio/sound_queue.h"
#include "audio/sound_ring.h"
#include "models/dims.h"
#include "models/error.h"
#include "temporary.h"
#include "wav.h"

namespace sotto {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a ring hands all of it over, in order, between two threads") {
  SoundRing ring(1000);
  CHECK(ring.capacity() == 1024);
  constexpr int kAll = 2'000'000;
  std::thread writer([&ring] {
    std::vector<float> piece;
    for (int next = 0, size = 1; next < kAll; size = size % 700 + 13) {
      piece.resize(std::min(size, kAll - next));
      for (float& value : piece) value = static_cast<float>(next++ % 65536);
      while (!ring.write(piece)) std::this_thread::yield();
    }
  });
  std::vector<float> got;
  int n = 0;
  bool in_order = true;
  while (n < kAll) {
    got.clear();
    ring.read(got);
    for (const float value : got) in_order &= value == static_cast<float>(n++ % 65536);
    if (got.empty()) std::this_thread::yield();
  }
  writer.join();
  CHECK(in_order);
  CHECK(n == kAll);
}

TEST_CASE("a full ring takes nothing, and counts it") {
  SoundRing ring(64);
  CHECK(ring.write(std::vector<float>(60, 1)));
  CHECK_FALSE(ring.write(std::vector<float>(5, 2)));
  CHECK_FALSE(ring.write(std::vector<float>(7, 2)));
  CHECK(ring.take_lost() == 12);
  CHECK(ring.take_lost() == 0);
  std::vector<float> got;
  ring.read(got);
  CHECK(got == std::vector<float>(60, 1));
  CHECK(ring.write(std::vector<float>(64, 3)));
}

TEST_CASE("a queue gives all there is, waits a moment for more, and ends when it is closed") {
  SoundQueue queue(1000);
  CHECK(queue.push(std::vector<float>(900, 1), false) == 900);
  CHECK(queue.push(std::vector<float>(900, 2), false) == 100);
  CHECK(queue.waiting_s() == 1000.0 / kSampleRate);
  std::vector<float> got;
  CHECK(queue.read(got));
  CHECK(got.size() == 1000);
  CHECK(queue.read(got));  // after a moment, with nothing
  CHECK(got.size() == 1000);

  std::thread writer([&queue] {
    queue.push(std::vector<float>(5000, 3), true);
    queue.notice("done");
    queue.close();
  });
  while (queue.read(got)) {
  }
  writer.join();
  CHECK(got.size() == 6000);
  CHECK(queue.take_notices() == std::vector<std::string>{"done"});
}

TEST_CASE("why a queue ended is told after all of its sound") {
  SoundQueue queue(1000);
  queue.push(std::vector<float>(400, 1), false);
  queue.close(std::make_exception_ptr(Error("the cable is cut")));
  std::vector<float> got;
  CHECK(queue.read(got));
  CHECK(got.size() == 400);
  CHECK_THROWS_WITH_AS(queue.read(got), "the cable is cut", Error);
}

struct Read {
  std::vector<float> sound;
  std::vector<std::string> notices;
};

Read read_all(LiveSource& source) {
  Read read;
  while (source.read(read.sound)) {
  }
  read.notices = source.take_notices();
  return read;
}

TEST_CASE("a pipe is heard as it is written") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe.raw";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::atomic<bool> heard_half = false, waited_too_long = false;
  std::thread writer([&] {
    std::ofstream pipe(path, std::ios::binary);
    const std::vector<int16_t> samples = hum(kSampleRate, 440, 9000);
    pipe.write(reinterpret_cast<const char*>(samples.data()), kSampleRate).flush();  // half of it
    for (int i = 0; i < 500 && !heard_half; ++i) std::this_thread::sleep_for(10ms);
    waited_too_long = !heard_half;
    pipe.write(reinterpret_cast<const char*>(samples.data()) + kSampleRate, kSampleRate);
  });
  const auto source = listen_to_pipe(path, {.raw = "s16le:16000:1"});
  std::vector<float> sound;
  while (source->read(sound)) heard_half = heard_half || sound.size() >= kSampleRate * 4 / 10;
  writer.join();
  CHECK_FALSE(waited_too_long);
  REQUIRE(sound.size() == kSampleRate);
  const std::vector<int16_t> samples = hum(kSampleRate, 440, 9000);
  for (int i = 0; i < kSampleRate; ++i) REQUIRE(std::abs(sound[i] * 32768 - samples[i]) < 1);
}

TEST_CASE("a container from a pipe, of another rate and with two channels") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::vector<int16_t> both;
    for (const int16_t sample : hum(3 * 48000, 100, 9000)) both.insert(both.end(), 2, sample);
    write_wav(path, both, 0xffffffff, 48000, 2);
  });
  const auto source = listen_to_pipe(path, {});
  const Read read = read_all(*source);
  writer.join();
  CHECK(std::abs(static_cast<int>(read.sound.size()) - 3 * kSampleRate) < 64);
  double energy = 0;
  for (const float sample : read.sound) energy += sample * sample;
  const double level = std::sqrt(energy / static_cast<double>(read.sound.size()));
  CHECK(level == doctest::Approx(9000 / 32768.0 / std::sqrt(2)).epsilon(0.02));
}

// Opens a named pipe for writing, as soon as somebody reads it, and writes some of a WAV file; the pipe stays open.
struct SilentWriter {
  SilentWriter(const std::string& path, size_t n_bytes) : fd(open(path.c_str(), O_RDWR)) {
    TemporaryFolder folder;
    write_wav(folder.path() + "/clip.wav", hum(2 * kSampleRate, 440, 9000), 0xffffffff);
    std::ifstream file(folder.path() + "/clip.wav", std::ios::binary);
    std::vector<char> bytes(n_bytes);
    file.read(bytes.data(), static_cast<std::streamsize>(n_bytes));
    REQUIRE(write(fd, bytes.data(), n_bytes) == static_cast<ssize_t>(n_bytes));
  }
  ~SilentWriter() { close(fd); }
  const int fd;
};

TEST_CASE("a pipe on which nothing comes is let go of at once when it is to stop") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::optional<SilentWriter> writer;
  SUBCASE("nobody has opened it") {}
  SUBCASE("nothing was written") { writer.emplace(path, 0); }
  SUBCASE("not all of the header") { writer.emplace(path, 20); }
  SUBCASE("the header alone") { writer.emplace(path, 44); }
  SUBCASE("a second of sound") { writer.emplace(path, 44 + 2 * kSampleRate); }
  std::atomic<bool> stop = false, done = false;
  std::string told;
  std::thread reader([&] {
    try {
      Decoder decoder(path, {.stop = &stop});
      Pcm pcm;
      while (decoder.read(pcm)) {
      }
    } catch (const Error& error) {
      told = error.what();
    }
    done = true;
  });
  std::this_thread::sleep_for(200ms);
  CHECK_FALSE(done);
  stop = true;
  for (int i = 0; i < 500 && !done; ++i) std::this_thread::sleep_for(10ms);
  CHECK(done);
  writer.reset();
  if (!done) close(open(path.c_str(), O_WRONLY | O_NONBLOCK));  // so that the test ends, too
  reader.join();
  CHECK(told == path + ": reading was interrupted");

  const auto source = listen_to_pipe(path, {});
  std::this_thread::sleep_for(50ms);  // and it ends here
}

TEST_CASE("what is no sound shows when it is read") {
  TemporaryFolder folder;
  std::ofstream(folder.path() + "/text.txt") << "no sound at all";
  CHECK_THROWS_AS(read_all(*listen_to_pipe(folder.path() + "/text.txt", {})), Error);
  CHECK_THROWS_AS(read_all(*listen_to_pipe(folder.path() + "/nothing.wav", {})), Error);
}

class Stepped : public Clock {
 public:
  double now_s() const override { return now_s_; }
  void wait_until(double time_s) override { now_s_ = std::max(now_s_, time_s); }
  double waited_s() const override { return now_s_; }
  double now_s_ = 0;
};

TEST_CASE("a file is played by its clock: never ahead of it, and nothing is left out") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/clip.wav";
  const std::vector<int16_t> samples = hum(5 * kSampleRate, 440, 9000);
  write_wav(path, samples);
  Stepped clock;
  const auto source = play_file(path, {}, clock);
  std::vector<float> sound;
  bool goes_on = true;
  for (int i = 0; goes_on; ++i) {
    goes_on = source->read(sound);
    CHECK(static_cast<double>(sound.size()) <= clock.now_s() * kSampleRate + 1);
    if (i % 10 == 3) {  // somebody is busy
      clock.now_s_ += 0.7;
      if (clock.now_s_ < 4) CHECK(source->waiting_s() == doctest::Approx(0.7).epsilon(0.1));
    }
  }
  REQUIRE(sound.size() == samples.size());
  for (size_t i = 0; i < samples.size(); ++i) REQUIRE(sound[i] * 32768 == samples[i]);
}

TEST_CASE("the clock on the wall can run faster") {
  WallClock clock(50);
  const auto start = std::chrono::steady_clock::now();
  clock.wait_until(5);
  CHECK(clock.now_s() >= 5);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  CHECK(clock.waited_s() > 4);
}

TEST_CASE("microphones are found by number, by name, and by a part of it that is clear") {
  std::vector<InputDevice> devices = {{0, "HDA Intel PCH: ALC257 Analog", 2, 48000, false},
                                      {1, "Blue Yeti: USB Audio", 2, 44100, true},
                                      {2, "Webcam: USB Audio", 1, 16000, false}};
  CHECK(choose_device(devices, "").number == 1);
  CHECK(choose_device(devices, "2").number == 2);
  CHECK(choose_device(devices, "yeti").number == 1);
  CHECK(choose_device(devices, "Webcam: USB Audio").number == 2);
  CHECK_THROWS_WITH_AS(choose_device(devices, "usb"), doctest::Contains("several microphones"), Error);
  CHECK_THROWS_WITH_AS(choose_device(devices, "9"), doctest::Contains("there is no microphone '9'"), Error);
  CHECK_THROWS_WITH_AS(choose_device(devices, "x"), doctest::Contains("'Blue Yeti: USB Audio'"), Error);
  CHECK_THROWS_WITH_AS(choose_device({}, ""), doctest::Contains("no microphone"), Error);
  devices[1].is_default = false;
  CHECK(choose_device(devices, "").number == 0);
}

}  // namespace
}  // namespace sotto
