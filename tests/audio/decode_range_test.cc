// A stretch of a file, and one channel of it: what a decoder gives then is what it gives of the whole, cut out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "audio/channels.h"
#include "audio/decode.h"
#include "audio/sound_files.h"
#include "models/error.h"

using namespace sotto;
using namespace sotto::test;

namespace {

// Bursts of noise at odd times, so that no two places are alike.
std::vector<float> bursts(int rate, double seconds) {
  std::mt19937 bits(1);
  std::vector<float> samples(static_cast<size_t>(rate * seconds));
  float last = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / rate;
    last = 0.7f * last + 0.3f * (int(bits() % 2001) - 1000) / 1000.0f;
    samples[i] = std::fmod(t, 0.731) < 0.4 + 0.2 * std::sin(t / 9) ? last : 0.0f;
  }
  return samples;
}

double energy(const std::vector<int16_t>& samples, size_t first, size_t n) {
  double sum = 0;
  for (size_t i = first; i < first + n; ++i) sum += double{1} * samples[i] * samples[i];
  return sum;
}

// By how many samples `part` lies off its place in `whole`, within 20 ms; and how much of its energy that leaves.
struct Offset {
  int samples;
  double left;
};
Offset offset(const std::vector<int16_t>& whole, const std::vector<int16_t>& part, int64_t place) {
  const int n = 32000;  // enough to tell
  Offset best{0, 1e9};
  for (int shift = -320; shift <= 320; ++shift) {
    double left = 0;
    for (int i = 0; i < n; i += 3) {
      const double d = double{1} * whole[place + 8000 + shift + i] - part[8000 + i];
      left += d * d;
    }
    if (left < best.left || best.left == 1e9) best = {shift, left};
  }
  best.left *= 3 / energy(part, 8000, n);
  return best;
}

}  // namespace

TEST_CASE("a stretch of a file is where it is in the whole, whether its format can be jumped in or not") {
  const TempFolder folder;
  const std::string sound = folder / "sound.wav";
  write_bytes(sound, wav({.rate = 44100}, s16_bytes(bursts(44100, 60))));
  const std::string encodings[][2] = {
      {"a.wav", ""},         {"a.w64", ""},         {"a.flac", "-c:a flac"},    {"a.aiff", ""},
      {"a.m4a", "-c:a aac"}, {"a.mp4", "-c:a alac"}, {"a.mkv", "-c:a libopus"}, {"b.mkv", "-c:a libmp3lame"},
      {"a.ogg", "-c:a libvorbis"}, {"a.opus", "-c:a libopus"}, {"a.webm", "-c:a libvorbis"},
      {"a.mp3", "-q:a 4"},   {"b.mp3", "-q:a 4 -write_xing 0"}, {"a.aac", "-c:a aac"}, {"a.ts", "-c:a mp2"}};
  for (const auto& [name, encoding] : encodings) {
    INFO(name);
    const std::string path = folder / name;
    REQUIRE(ffmpeg("-i " + sound + " " + encoding + " " + path));
    const std::vector<int16_t> whole = decode(path).samples;
    for (const double start_s : {3.217, 41.234}) {
      INFO(start_s);
      DecodeOptions options;
      options.start_s = start_s;
      options.end_s = start_s + 8.5;
      const Decoded part = decode(path, options);
      CHECK(part.error.empty());
      CHECK(part.warnings.empty());
      REQUIRE(part.samples.size() == 136000);
      const Offset off = offset(whole, part.samples, std::llround(start_s * 16000));
      const bool rounded = name.ends_with(".mkv") || name.ends_with(".webm");  // stamps to whole milliseconds
      CHECK(std::abs(off.samples) <= (rounded ? 16 : 0));
      if (off.samples == 0 && !rounded) CHECK(off.left < 0.02);  // codecs come to the same state; half a sample leaves 0.1
    }
  }
}

TEST_CASE("a stretch of 16 kHz PCM is the very samples, up to the sound's end where it is longer") {
  const TempFolder folder;
  const std::string path = folder / "sound.wav";
  write_bytes(path, wav({}, s16_bytes(bursts(16000, 50))));
  const std::vector<int16_t> whole = decode(path).samples;
  REQUIRE(whole.size() == 800000);
  for (const auto& [start_s, end_s] : {std::pair{0.0, 1.0}, {0.5, 0.50625}, {31.7, 44.4}, {45.0, 99.0}, {49.99, 50.0}}) {
    INFO(start_s);
    DecodeOptions options;
    options.start_s = start_s;
    options.end_s = end_s;
    const auto first = whole.begin() + std::llround(start_s * 16000);
    const auto end = whole.begin() + std::min<int64_t>(800000, std::llround(end_s * 16000));
    CHECK(decode(path, options).samples == std::vector<int16_t>(first, end));
    Decoder decoder(path, options);
    CHECK(*decoder.duration_s() == doctest::Approx(std::min(end_s, 50.0) - start_s).epsilon(1e-3));
  }
}

TEST_CASE("behind the end of the sound there is nothing, which is said") {
  const TempFolder folder;
  const std::string path = folder / "sound.wav";
  write_bytes(path, wav({}, s16_bytes(bursts(16000, 40))));
  for (const double start_s : {40.0, 41.0, 1e6}) {
    DecodeOptions options;
    options.start_s = start_s;
    const Decoded none = decode(path, options);
    CHECK(none.samples.empty());
    CHECK(none.error.empty());
    REQUIRE(none.warnings.size() == 1);
    CHECK(none.warnings[0].find("ends at 40.0 s") != std::string::npos);
  }
}

TEST_CASE("a pipe's stretch is what is left when the rest has been read") {
  const TempFolder folder;
  const std::string path = folder / "sound.wav", fifo = folder / "fifo";
  write_bytes(path, wav({}, s16_bytes(bursts(16000, 60))));
  const std::vector<int16_t> whole = decode(path).samples;
  REQUIRE(shell("mkfifo " + fifo));
  REQUIRE(shell("(cat " + path + " > " + fifo + ") &"));
  DecodeOptions options;
  options.start_s = 40;
  options.end_s = 50;
  CHECK(decode(fifo, options).samples == std::vector<int16_t>(whole.begin() + 640000, whole.begin() + 800000));
}

TEST_CASE("each channel alone, and none that isn't there") {
  const TempFolder folder;
  const std::vector<float> left = voice(16000, 3), right = bursts(16000, 3);
  std::vector<float> both;
  for (size_t i = 0; i < left.size(); ++i) both.insert(both.end(), {left[i], right[i]});
  const std::string l = folder / "l.wav", r = folder / "r.wav", stereo = folder / "stereo.wav";
  write_bytes(l, wav({}, s16_bytes(left)));
  write_bytes(r, wav({}, s16_bytes(right)));
  write_bytes(stereo, wav({.channels = 2, .block_align = 4}, s16_bytes(both)));
  REQUIRE(ffmpeg("-i " + stereo + " -c:a flac " + (folder / "stereo.flac")));
  for (const std::string& path : {stereo, folder / "stereo.flac"}) {
    DecodeOptions options;
    options.channel = 0;
    CHECK(decode(path, options).samples == decode(l).samples);
    options.channel = 1;
    CHECK(decode(path, options).samples == decode(r).samples);
    options.channel = 2;
    CHECK(decode(path, options).error.find("has no channel 3: it has 2") != std::string::npos);
  }
}

TEST_CASE("channels are apart if what they hold differs by more than a codec's noise") {
  const TempFolder folder;
  const std::string one = folder / "one.wav", other = folder / "other.wav";
  write_bytes(one, wav({}, s16_bytes(voice(16000, 8))));
  write_bytes(other, wav({}, s16_bytes(bursts(16000, 8))));
  const std::string both = "-i " + one + " -i " + other + " -filter_complex ";
  CHECK(separate_channels(one, {}) == 1);
  for (const std::string name : {"a.wav", "a.mp3 -joint_stereo 0", "a.ogg"}) {
    INFO(name);
    const std::string path = folder / name.substr(0, 5), coding = name.substr(5) + " ";
    REQUIRE(ffmpeg(both + "'[0][0]amerge=inputs=2' " + coding + path));
    CHECK(separate_channels(path, {}) == 1);
    REQUIRE(ffmpeg(both + "'[0][1]amerge=inputs=2' " + coding + path));
    CHECK(separate_channels(path, {}) == 2);
  }
  REQUIRE(ffmpeg(both + "'[0][1]amerge=inputs=2,apad=pad_dur=8' " + (folder / "part.wav")));
  DecodeOptions options;
  options.start_s = 9;
  CHECK(separate_channels(folder / "part.wav", options) == 1);
}
