#include "audio/sound_files.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <sstream>

#include "models/error.h"

namespace sotto::test {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sotto-sound-XXXXXX").string();
  CHECK_INVARIANT(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Decoded decode(const std::string& path, const DecodeOptions& options) {
  Decoded decoded;
  try {
    Decoder decoder(path, options);
    Pcm pcm;
    while (decoder.read(pcm)) {
      CHECK_INVARIANT(pcm.start == static_cast<int64_t>(decoded.samples.size()));
      for (float x : pcm.samples) {
        const float scaled = x * 32768.0f;
        CHECK_INVARIANT(scaled == std::rint(scaled) && scaled >= -32768.0f && scaled <= 32767.0f);
        decoded.samples.push_back(static_cast<int16_t>(scaled));
      }
    }
    decoded.warnings = decoder.take_warnings();
  } catch (const Error& error) {
    decoded.error = error.what();
  }
  return decoded;
}

std::vector<int16_t> ffmpeg_decode(const std::string& path, const std::string& input_options) {
  const TempFolder folder;
  const std::string out = folder / "out.s16";
  std::vector<int16_t> samples;
  if (!ffmpeg(input_options + " -i \"file:" + path + "\" -f s16le -ac 1 -acodec pcm_s16le -ar 16000 " + out)) {
    return samples;
  }
  const std::string bytes = read_bytes(out);
  samples.resize(bytes.size() / 2);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(samples.data()));
  return samples;
}

bool shell(const std::string& command) { return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0; }

bool ffmpeg(const std::string& arguments) { return shell("ffmpeg -nostdin -y " + arguments); }

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

std::vector<float> voice(int rate, double seconds) {
  std::vector<float> samples(static_cast<size_t>(std::llround(rate * seconds)));
  for (size_t i = 0; i < samples.size(); ++i) {
    const double t = 2.0 * std::numbers::pi * static_cast<double>(i) / rate;
    const double tones = std::sin(180.0 * t) + 0.7 * std::sin(730.0 * t) + 0.4 * std::sin(1090.0 * t);
    samples[i] = static_cast<float>(0.22 * tones * (0.55 + 0.45 * std::sin(3.0 * t)));
  }
  return samples;
}

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string s16_bytes(const std::vector<float>& samples) {
  std::string out;
  for (float x : samples) out += little(static_cast<uint16_t>(static_cast<int16_t>(std::lround(x * 32767.0f))), 2);
  return out;
}

std::string wav(const WavHeader& h, const std::string& data) {
  const uint32_t size = h.data_size == 0xFFFFFFFF ? static_cast<uint32_t>(data.size()) : h.data_size;
  const std::string format = little(h.format, 2) + little(h.channels, 2) + little(h.rate, 4) +
                             little(uint64_t{h.rate} * h.block_align, 4) + little(h.block_align, 2) + little(h.bits, 2);
  const std::string body =
      "WAVEfmt " + little(format.size(), 4) + format + h.before_data + "data" + little(size, 4) + data;
  return "RIFF" + little(body.size(), 4) + body;
}

}  // namespace sotto::test
