// The decoder on ordinary files: sample for sample what the ffmpeg program gives.
#include <doctest/doctest.h>

#include <algorithm>

#include "audio/decode.h"
#include "audio/sound_files.h"

using namespace sotto;
using namespace sotto::test;

namespace {

struct Made {
  const char* name;
  int channels;
  const char* encoding;  // ffmpeg's output options
};

}  // namespace

TEST_CASE("ordinary files decode to the very samples of the ffmpeg program") {
  const TempFolder folder;
  const std::string source = folder / "voice.wav";
  write_bytes(source, wav({.rate = 44100}, s16_bytes(voice(44100, 3.3))));
  const std::string stereo = "-af \"pan=stereo|c0=c0|c1=0.3*c0\" ";
  const Made made[] = {
      {"a.mp3", 2, "-b:a 48k"},
      {"vbr.mp3", 2, "-q:a 6 -ar 22050"},
      {"no_xing.mp3", 1, "-q:a 6 -write_xing 0"},
      {"a.m4a", 2, "-c:a aac"},
      {"a.aac", 2, "-c:a aac"},
      {"a.flac", 1, ""},
      {"a8.flac", 2, "-ar 8000"},
      {"a.opus", 2, "-c:a libopus -b:a 16k -ar 48000"},
      {"a.ogg", 1, "-c:a libvorbis"},
      {"a.webm", 2, "-c:a libopus -ar 48000"},
      {"a.mkv", 2, "-c:a ac3"},
      {"a.ts", 1, "-c:a mp2"},
      {"a.avi", 2, "-c:a mp2"},
      {"a.mov", 2, "-c:a alac"},
      {"a.wma", 1, "-c:a wmav2"},
      {"a.flv", 2, "-c:a adpcm_swf"},
      {"a.aiff", 2, ""},
      {"a.caf", 1, ""},
      {"a.au", 2, "-c:a pcm_mulaw -ar 8000"},
      {"a.w64", 2, "-c:a pcm_s24le"},
      {"rf64.wav", 1, "-rf64 always"},
      {"a.wv", 2, "-c:a wavpack"},
      {"f32.wav", 2, "-c:a pcm_f32le -ar 96000"},
      {"f64.wav", 1, "-c:a pcm_f64le -ar 11025"},
      {"s32.wav", 2, "-c:a pcm_s32le -ar 384000"},
      {"s24.wav", 2, "-c:a pcm_s24le -ar 192000"},
      {"u8.wav", 1, "-c:a pcm_u8 -ar 8000"},
      {"alaw.wav", 2, "-c:a pcm_alaw -ar 8000"},
      {"ima.wav", 2, "-c:a adpcm_ima_wav"},
      {"six.flac", 1, "-ac 6"},
  };
  for (const Made& file : made) {
    const std::string path = folder / file.name;
    INFO(path);
    REQUIRE(ffmpeg("-i " + source + " " + (file.channels == 2 ? stereo : "") + file.encoding + " " + path));
    const Decoded decoded = decode(path);
    CHECK(decoded.error.empty());
    CHECK(decoded.warnings.empty());
    CHECK(decoded.samples.size() > 3.2 * 16000);
    CHECK(decoded.samples == ffmpeg_decode(path));
  }
}
