// What users feed to a decoder that is no ordinary file: odd headers, pipes, headerless sound, damage, and no sound.
#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "audio/decode.h"
#include "audio/sound_files.h"
#include "models/error.h"

using namespace sotto;
using namespace sotto::test;

namespace {

bool mentions(const std::string& sentence, const std::string& words) { return sentence.find(words) != sentence.npos; }

std::string f32_bytes(const std::vector<float>& samples) {
  std::string out;
  for (float x : samples) out += little(std::bit_cast<uint32_t>(x), 4);
  return out;
}

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// The first n samples, rounded as s16_bytes does.
std::vector<int16_t> s16(const std::vector<float>& samples, size_t n) {
  std::vector<int16_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int16_t>(std::lround(samples[i] * 32767.0f)));
  return out;
}

}  // namespace

TEST_CASE("WAV headers as programs write them") {
  const TempFolder folder;
  const std::vector<float> sound = voice(16000, 1.3);
  const std::string data = s16_bytes(sound), plain = wav({}, data);
  const std::string odd_chunk = "note" + little(5, 4) + "hello" + std::string(1, '\0');
  const std::string list_chunk = "LIST" + little(4, 4) + "INFO", unknown = little(0xFFFFFFFF, 4);
  struct Case {
    const char* name;
    std::string bytes;
    size_t n;
    const char* warning;
  };
  const size_t all = sound.size();
  const Case cases[] = {
      {"plain", plain, all, ""},
      {"sizes unknown", std::string(plain).replace(4, 4, unknown).replace(40, 4, unknown), all, ""},
      {"data size 0", wav({.data_size = 0}, data), all, ""},
      {"chunks before the data", wav({.before_data = list_chunk + odd_chunk}, data), all, ""},
      {"chunk after the data", plain + list_chunk, all, ""},
      {"junk after the data", plain + std::string(301, '\x5A'), all, ""},
      {"half a sample at the end", wav({}, data + "x"), all, ""},
      {"cut off", plain.substr(0, 44 + 16000), 8000, "ends early: 0.5 s of 1.3 s"},
      {"no samples", wav({}, ""), 0, ""},
      {"one sample", wav({}, data.substr(0, 2)), 1, ""},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    write_bytes(folder / "x.wav", c.bytes);
    const Decoded decoded = decode(folder / "x.wav");
    CHECK(decoded.error.empty());
    CHECK(decoded.samples == s16(sound, c.n));
    CHECK(decoded.warnings.size() == (*c.warning ? 1 : 0));
    if (*c.warning && !decoded.warnings.empty()) CHECK(mentions(decoded.warnings[0], c.warning));
  }
}

TEST_CASE("headers that can't be: one sentence each") {
  const TempFolder folder;
  const std::string data = s16_bytes(voice(16000, 0.5));
  const std::string cases[][2] = {
      {"rate 0", wav({.rate = 0}, data)},
      {"rate 7", wav({.rate = 7}, data)},
      {"rate 4e9", wav({.rate = 4'000'000'000}, data)},
      {"no channels", wav({.channels = 0}, data)},
      {"60000 channels", wav({.channels = 60000}, data)},
      {"0 bits", wav({.bits = 0}, data)},
      {"unknown format", wav({.format = 0x7777}, data)},
      {"nothing after the header's start", wav({}, data).substr(0, 22)},
      {"no data chunk", wav({}, data).substr(0, 36)},
      {"four bytes", "RIFF"},
      {"data promised, none there", wav({.data_size = 32000}, "")},
      {"text", "Dear reader,\nthis is no sound.\n"},
      {"a picture", "\x89PNG\r\n\x1A\n" + std::string(500, '\x13')},
      {"empty", ""},
  };
  for (const auto& [name, bytes] : cases) {
    INFO(name);
    const std::string path = folder / "x.wav";
    write_bytes(path, bytes);
    const Decoded decoded = decode(path);
    CHECK(decoded.samples.empty());
    CHECK(mentions(decoded.error, path));
    CHECK(decoded.error.size() > path.size() + 10);
  }
  write_bytes(folder / "block.wav", wav({.block_align = 0}, data));  // the other fields say enough
  CHECK(decode(folder / "block.wav").error.empty());
}

TEST_CASE("paths that are no file with sound") {
  const TempFolder folder;
  CHECK(mentions(decode(folder / "").error, "is a folder"));
  CHECK(mentions(decode(folder / "missing.wav").error, "No such file"));
  CHECK(mentions(decode("concat:" + folder / "a.wav").error, "No such file"));
  write_bytes(folder / "silent.mp4", "");
  CHECK(mentions(decode(folder / "silent.mp4").error, "is empty"));
  REQUIRE(ffmpeg("-f lavfi -i testsrc=size=64x64:duration=1 -c:v mpeg4 " + (folder / "silent.mp4")));
  CHECK(mentions(decode(folder / "silent.mp4").error, "no audio track"));
  write_bytes(folder / "a.wav", wav({}, s16_bytes(voice(16000, 0.5))));
  write_bytes(folder / "list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na.wav\n#EXT-X-ENDLIST\n");
  CHECK(mentions(decode(folder / "list.m3u8").error, "list.m3u8"));
  write_bytes(folder / "list.txt", "ffconcat version 1.0\nfile a.wav\n");
  CHECK(mentions(decode(folder / "list.txt").error, "list.txt"));
}

TEST_CASE("a file's name means nothing but itself") {
  const TempFolder folder;
  const std::vector<float> sound = voice(16000, 0.5);
  for (const std::string name : {"concat:a|b", "http:x.wav", "with space.WAV", "no_extension", "is_wav.mp3", "%03d.wav",
                                 "ü \" ' \\.wav", "-"}) {
    INFO(name);
    write_bytes(folder / name, wav({}, s16_bytes(sound)));
    CHECK(decode(folder / name).samples == s16(sound, sound.size()));
  }
}

TEST_CASE("a named pipe is read to its end, as it comes") {
  const TempFolder folder;
  const std::vector<float> sound = voice(16000, 3.0);
  const std::string fifo = folder / "pipe", file = folder / "a.flac";
  write_bytes(folder / "a.wav", wav({}, s16_bytes(sound)));
  REQUIRE(ffmpeg("-i " + (folder / "a.wav") + " " + file));
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& command : {"ffmpeg -nostdin -i " + file + " -f wav -", "cat " + file}) {
    std::thread writer([&] { shell(command + " > " + fifo); });
    const Decoded decoded = decode(fifo);
    writer.join();
    CHECK(decoded.error.empty());
    CHECK(decoded.warnings.empty());
    CHECK(decoded.samples == s16(sound, sound.size()));
  }
}

TEST_CASE("what a pipe can't give is named") {
  const TempFolder folder;
  const std::string fifo = folder / "pipe", file = folder / "a.m4a";
  write_bytes(folder / "a.wav", wav({}, s16_bytes(voice(16000, 40.0))));
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const auto through_pipe = [&] {
    std::thread writer([&] { shell("cat " + file + " > " + fifo); });
    Decoded decoded = decode(fifo);
    writer.join();
    return decoded;
  };
  REQUIRE(ffmpeg("-i " + (folder / "a.wav") + " " + file));
  CHECK(mentions(through_pipe().error, "its index is at the end, after the sound: give the file's name"));
  CHECK(decode(file).error.empty());
  REQUIRE(ffmpeg("-i " + (folder / "a.wav") + " -movflags faststart " + file));
  CHECK(through_pipe().samples.size() > 600000);
  REQUIRE(ffmpeg("-i " + (folder / "a.wav") + " -movflags frag_keyframe+empty_moov " + file));
  CHECK(through_pipe().samples.size() > 600000);
  write_bytes(file, "");
  CHECK(through_pipe().error == fifo + " is empty");
  CHECK(decode("/dev/null").error == "/dev/null is empty");
}

TEST_CASE("an address that can't be opened is said so") {
  CHECK(mentions(decode("http://127.0.0.1:9/a.wav").error, "http://127.0.0.1:9/a.wav can't be "));
  CHECK(mentions(decode("https://host.invalid/a.wav").error, "can't be reached: check the address and the network"));
}

TEST_CASE("a pipe that gives nothing more can be left") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const std::string data = wav({.data_size = 0x7FFFFFFF}, s16_bytes(voice(16000, 2.0)));
  REQUIRE(write(ends[1], data.data(), data.size()) == static_cast<ssize_t>(data.size()));
  std::atomic<bool> stop = true;
  CHECK_THROWS_AS(Decoder("/dev/fd/" + std::to_string(ends[0]), {.stop = &stop}), Error);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("headerless sound by its description") {
  const TempFolder folder;
  const std::string file = folder / "a.wav", raw = folder / "a.raw";
  write_bytes(file, wav({.rate = 8000}, s16_bytes(voice(8000, 1.0))));
  for (const std::string format : {"alaw", "mulaw", "u8", "s16le", "s16be", "s24le", "s32be", "f32le", "f64be"}) {
    INFO(format);
    REQUIRE(ffmpeg("-i " + file + " -f " + format + " -ar 11025 -ac 2 " + raw));
    const Decoded decoded = decode(raw, {.raw = format + ":11025:2"});
    CHECK(decoded.samples.size() == 16000);
    CHECK(decoded.samples == ffmpeg_decode(raw, "-f " + format + " -ar 11025 -ac 2"));
  }
  for (const std::string name : {"x.raw", "x.pcm", "x.alaw", "x.ul", "x.al", "x.sw", "x.ub"}) {
    write_bytes(folder / name, s16_bytes(voice(8000, 1.0)));
    CHECK(mentions(decode(folder / name).error, "--raw s16le:16000:1"));
  }
  for (const std::string spec : {"s16le", "s16le:8000:1:2", "s17le:8000:1", "s16le:fast:1", "s16le:0:1", "s16le:8000:0",
                                 "s16le:8000:one", "s16le:99999999999:1", "wav:8000:1", ":::"}) {
    INFO(spec);
    CHECK(mentions(decode(raw, {.raw = spec}).error, "\""));
  }
}

TEST_CASE("samples that are not numbers, infinite or far too large become silence, with a warning") {
  const TempFolder folder;
  std::vector<float> sound = voice(16000, 1.0);
  const std::vector<int16_t> clean = s16(sound, sound.size());
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30f};
  for (size_t i = 0; i < 300; ++i) sound[4000 + i] = odd[i % 3];
  sound[8000] = 3.0f;  // merely too loud: clipped, as ever
  write_bytes(folder / "x.wav", wav({.format = 3, .block_align = 4, .bits = 32}, f32_bytes(sound)));
  const Decoded decoded = decode(folder / "x.wav");
  REQUIRE(decoded.samples.size() == clean.size());
  for (size_t i = 0; i < clean.size(); ++i) {
    const int expected = i >= 4000 && i < 4300 ? 0 : i == 8000 ? 32767 : clean[i];
    if (std::abs(decoded.samples[i] - expected) > 1) FAIL("sample " << i << " is " << decoded.samples[i]);
  }
  REQUIRE(decoded.warnings.size() == 1);
  CHECK(mentions(decoded.warnings[0], "300 samples"));
}

TEST_CASE("damaged and cut files give what decodes, in its place, with a warning") {
  const TempFolder folder;
  const std::string source = folder / "a.wav";
  write_bytes(source, wav({}, s16_bytes(voice(16000, 6.0))));
  for (const std::string name : {"a.flac", "a.mp3", "a.webm", "fast.m4a"}) {
    INFO(name);
    const std::string whole = folder / name, cut = folder / ("cut_" + name);
    REQUIRE(ffmpeg("-i " + source + (name == "fast.m4a" ? " -movflags +faststart " : " ") + whole));
    const std::string bytes = read_bytes(whole);
    write_bytes(cut, bytes.substr(0, bytes.size() / 2));
    const Decoded decoded = decode(cut);
    CHECK(decoded.error.empty());
    CHECK(decoded.samples.size() > 2.0 * 16000);
    CHECK(decoded.samples.size() < 4.5 * 16000);
    REQUIRE(!decoded.warnings.empty());
    CHECK(mentions(decoded.warnings.back(), "ends early"));
  }
  std::string flac = read_bytes(folder / "a.flac");
  for (size_t i = flac.size() / 2; i < flac.size() / 2 + 3000; ++i) flac[i] = static_cast<char>(flac[i] ^ 0x55);
  write_bytes(folder / "damaged.flac", flac);
  const Decoded damaged = decode(folder / "damaged.flac"), whole = decode(folder / "a.flac");
  CHECK(damaged.samples.size() == whole.samples.size());
  REQUIRE(damaged.samples.size() > 16000);
  CHECK(std::equal(damaged.samples.end() - 16000, damaged.samples.end(), whole.samples.end() - 16000));
  REQUIRE(!damaged.warnings.empty());
  CHECK(mentions(damaged.warnings[0], "damaged.flac: damaged: "));
  REQUIRE(ffmpeg("-i " + source + " " + (folder / "late.m4a")));
  const std::string late = read_bytes(folder / "late.m4a");
  write_bytes(folder / "late.m4a", late.substr(0, late.size() / 2));
  CHECK(mentions(decode(folder / "late.m4a").error, "no sound that can be decoded"));
}

TEST_CASE("hours of sound pass through a bounded memory") {
  const TempFolder folder;
  const std::string path = folder / "hours.wav";  // 3 h of stereo at 44.1 kHz: a sparse file of 1.9 GB
  const uint32_t size = 3u * 3600 * 44100 * 4;
  write_bytes(path, wav({.channels = 2, .rate = 44100, .block_align = 4, .data_size = size}, ""));
  std::filesystem::resize_file(path, 44 + size);
  Decoder decoder(path, {});
  CHECK(decoder.seekable());
  CHECK(decoder.duration_s().value_or(0.0) == doctest::Approx(10800.0));
  Pcm pcm;
  int64_t n = 0;
  for (int i = 0; i < 100 && decoder.read(pcm); ++i) n += std::ssize(pcm.samples);
  const int64_t before = resident_bytes();
  for (int i = 0; i < 2000 && decoder.read(pcm); ++i) {
    CHECK(pcm.start == n);
    n += std::ssize(pcm.samples);
    CHECK(pcm.samples.size() <= 32000);
  }
  CHECK(n > 2000 * 16000);
  CHECK(resident_bytes() - before < 2 << 20);
}
