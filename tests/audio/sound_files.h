// Sound to test with, made when the test runs: WAV files byte by byte, and anything else by the ffmpeg program, which
// is also the oracle for what a decoder should give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "audio/decode.h"

namespace sotto::test {

// A folder that lasts as long as the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Decoded {
  std::vector<int16_t> samples;
  std::vector<std::string> warnings;
  std::string error;  // of the Error that ended it
};

Decoded decode(const std::string& path, const DecodeOptions& options = {});

// Runs `ffmpeg -i path` with the reference's output options; input_options go before -i.
std::vector<int16_t> ffmpeg_decode(const std::string& path, const std::string& input_options = "");

// Runs a shell command; true if it ended well. Its output is thrown away.
bool shell(const std::string& command);
// `ffmpeg -y <arguments>`, quietly.
bool ffmpeg(const std::string& arguments);

void write_bytes(const std::string& path, const std::string& bytes);
std::string read_bytes(const std::string& path);

// Speech-like sound: a few tones that swell and fade. Values within [-0.5, 0.5].
std::vector<float> voice(int rate, double seconds);
std::string little(uint64_t value, int bytes);  // as bytes, low one first
std::string s16_bytes(const std::vector<float>& samples);

struct WavHeader {
  uint16_t format = 1, channels = 1;
  uint32_t rate = 16000;
  uint16_t block_align = 2, bits = 16;
  uint32_t data_size = 0xFFFFFFFF;  // what the header claims
  std::string before_data;          // whole chunks
};
std::string wav(const WavHeader& header, const std::string& data);

}  // namespace sotto::test
