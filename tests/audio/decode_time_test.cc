// Sound keeps its place in time: late starts, gaps, hours on the clock, and sound that only one channel has.
#include <doctest/doctest.h>

#include <cmath>

#include "audio/decode.h"
#include "audio/sound_files.h"

using namespace sotto;
using namespace sotto::test;

namespace {

// Silence with a click at each of these times.
std::vector<float> clicks(int rate, double seconds, const std::vector<double>& times) {
  std::vector<float> samples(static_cast<size_t>(rate * seconds));
  for (double t : times) {
    for (int k = 0; k < rate / 1000; ++k) samples[static_cast<size_t>(t * rate) + k] = k % 8 < 4 ? 0.6f : -0.6f;
  }
  return samples;
}

// Where sound stands out after half a second of silence.
std::vector<double> click_times(const std::vector<int16_t>& samples) {
  std::vector<double> times;
  size_t last = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(samples[i]) < 4000) continue;
    if (times.empty() || i > last + 8000) times.push_back(i / 16000.0);
    last = i;
  }
  return times;
}

double rms(const std::vector<int16_t>& samples) {
  double sum = 0.0;
  for (int16_t x : samples) sum += double{1} * x * x;
  return samples.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(samples.size()));
}

void check_clicks(const std::string& path, const std::vector<double>& expected, double within_s) {
  INFO(path);
  const Decoded decoded = decode(path);
  CHECK(decoded.error.empty());
  CHECK(decoded.warnings.empty());
  const std::vector<double> times = click_times(decoded.samples);
  REQUIRE(times.size() == expected.size());
  for (size_t i = 0; i < times.size(); ++i) CHECK(std::abs(times[i] - expected[i]) < within_s);
}

const std::string kPicture = "-f lavfi -i testsrc=size=64x64:rate=25:duration=4 ";

}  // namespace

TEST_CASE("sound that starts after the picture is as late as it is in a player") {
  const TempFolder folder;
  const std::string sound = folder / "clicks.wav";
  write_bytes(sound, wav({.rate = 44100}, s16_bytes(clicks(44100, 2.3, {0.5, 1.5}))));
  const std::string encodings[][2] = {
      {"a.mp4", "-c:v mpeg4 -c:a aac"},           {"a.mkv", "-c:v mpeg4 -c:a libopus"},
      {"a.ts", "-c:v mpeg2video -c:a mp2"},       {"a.flv", "-c:v flv -c:a libmp3lame -ar 44100"},
      {"a.mov", "-c:v mpeg4 -c:a pcm_s16le"},     {"b.mp4", "-c:v mpeg4 -c:a libmp3lame"},
      {"a.ogv", "-c:v libtheora -c:a libvorbis"}, {"a.wmv", "-c:v mpeg4 -c:a wmav2"},
  };
  for (const auto& [name, encoding] : encodings) {
    const std::string path = folder / name;
    REQUIRE(ffmpeg(kPicture + "-itsoffset 1.5 -i " + sound + " -map 0:v -map 1:a " + encoding + " " + path));
    check_clicks(path, {2.0, 3.0}, 0.020);
  }
}

TEST_CASE("a clock that starts at ten hours, a gap, and an edit list") {
  const TempFolder folder;
  const std::string sound = folder / "clicks.wav", mp4 = folder / "a.mp4";
  write_bytes(sound, wav({.rate = 44100}, s16_bytes(clicks(44100, 3.3, {0.5, 1.5, 2.5}))));
  for (const std::string name : {"late.ts", "late.mkv"}) {
    REQUIRE(ffmpeg("-i " + sound + " -c:a mp2 -output_ts_offset 36000 " + (folder / name)));
    check_clicks(folder / name, {0.5, 1.5, 2.5}, 0.020);
  }
  REQUIRE(ffmpeg("-i " + sound + " -af \"aselect='not(between(t,0.8,1.2))'\" -c:a flac " + (folder / "gap.mkv")));
  check_clicks(folder / "gap.mkv", {0.5, 1.5, 2.5}, 0.005);
  REQUIRE(ffmpeg(kPicture + "-i " + sound + " -c:v mpeg4 -c:a aac " + mp4));
  REQUIRE(ffmpeg("-ss 1 -i " + mp4 + " -c copy " + (folder / "edited.mp4")));
  check_clicks(folder / "edited.mp4", {0.5, 1.5}, 0.020);
}

TEST_CASE("streams joined end to end are heard to the end, whatever their clocks say") {
  const TempFolder folder;
  const std::string sound = folder / "clicks.wav";
  write_bytes(sound, wav({.rate = 44100}, s16_bytes(clicks(44100, 2.3, {0.5, 1.5}))));
  REQUIRE(ffmpeg("-i " + sound + " -c:a mp2 " + (folder / "a.ts")));
  REQUIRE(ffmpeg("-i " + sound + " -c:a mp2 -output_ts_offset 50000 " + (folder / "b.ts")));
  const std::string a = read_bytes(folder / "a.ts"), b = read_bytes(folder / "b.ts");
  for (const std::string& joined : {a + a, a + b, b + a}) {
    write_bytes(folder / "joined.ts", joined);
    const Decoded decoded = decode(folder / "joined.ts");
    CHECK(decoded.warnings.size() == 1);
    CHECK(click_times(decoded.samples).size() == 4);
    CHECK(decoded.samples.size() < 16000 * 6);
  }
}

TEST_CASE("channels that cancel each other out are heard, and said so") {
  const TempFolder folder;
  const std::vector<float> mono = voice(16000, 4.0);
  std::vector<float> opposite, right_only, lfe_only, rumble;
  for (size_t i = 0; i < mono.size(); ++i) {
    opposite.insert(opposite.end(), {mono[i], -mono[i]});
    right_only.insert(right_only.end(), {0.0f, mono[i]});
    for (int c = 0; c < 6; ++c) lfe_only.push_back(c == 3 ? mono[i] : 0.0f);
    const float boom = 0.9f * std::sin(static_cast<float>(i) * 0.0157f);  // 40 Hz
    for (int c = 0; c < 6; ++c) rumble.push_back(c == 3 ? boom : c == 2 ? 0.05f * mono[i] : 0.0f);
  }
  struct Case {
    const char* name;
    uint16_t channels;
    const std::vector<float>& samples;
    bool lost_in_mix;
  };
  const double loud = rms(decode([&] {
    write_bytes(folder / "mono.wav", wav({}, s16_bytes(mono)));
    return folder / "mono.wav";
  }()).samples);
  for (const Case& c : {Case{"opposite.wav", 2, opposite, true}, Case{"right.wav", 2, right_only, false},
                        Case{"lfe.wav", 6, lfe_only, true}, Case{"rumble.wav", 6, rumble, false}}) {
    INFO(c.name);
    const std::string path = folder / c.name;
    write_bytes(path, wav({.channels = c.channels, .block_align = static_cast<uint16_t>(2 * c.channels)},
                          s16_bytes(c.samples)));
    const Decoded decoded = decode(path);
    CHECK(decoded.samples.size() == mono.size());
    CHECK(decoded.warnings.size() == (c.lost_in_mix ? 1 : 0));
    if (c.lost_in_mix) CHECK(rms(decoded.samples) > 0.99 * loud);
    else CHECK(decoded.samples == ffmpeg_decode(path));
  }
}

TEST_CASE("of several audio tracks the one that was asked for") {
  const TempFolder folder;
  const std::string path = folder / "two.mkv", sound = folder / "clicks.wav";
  write_bytes(sound, wav({}, s16_bytes(clicks(16000, 2.0, {1.0}))));
  REQUIRE(ffmpeg("-f lavfi -i anullsrc=r=16000:cl=mono:d=2 -i " + sound + " -map 0 -map 1 -c:a flac " + path));
  CHECK(click_times(decode(path).samples).empty());
  CHECK(click_times(decode(path, {.audio_track = 1}).samples).size() == 1);
  const std::string error = decode(path, {.audio_track = 2}).error;
  CHECK(error == path + " has no audio track 2: it has 2 audio tracks, numbered from 0");
}
