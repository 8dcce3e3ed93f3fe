#include "audio/wav_length.h"

#include <cstdint>
#include <fstream>
#include <string_view>

namespace sotto {

namespace {

// From here on a size means "not known": programs that write to a pipe fill in one of several large values.
constexpr uint32_t kStreamedSize = 0x7FFFF000;
constexpr int kMaxChunks = 1000;

uint32_t read_little(const char* bytes, int n) {
  uint32_t value = 0;
  for (int i = n - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Bytes per second of the formats with one block for each instant: PCM, float, A-law, mu-law, extensible. The others'
// field for it is only roughly right.
double byte_rate(const char* format) {
  const uint32_t tag = read_little(format, 2);
  const bool plain = tag == 1 || tag == 3 || tag == 6 || tag == 7 || tag == 0xFFFE;
  return plain ? 1.0 * read_little(format + 4, 4) * read_little(format + 12, 2) : 0.0;
}

}  // namespace

std::optional<double> wav_length_s(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char header[12];
  if (!file.read(header, 12) || std::string_view(header, 4) != "RIFF") return std::nullopt;
  double bytes_per_second = 0;
  for (int i = 0; i < kMaxChunks && file.read(header, 8); ++i) {
    const std::string_view id(header, 4);
    const uint32_t size = read_little(header + 4, 4);
    if (id == "data") {
      if (bytes_per_second == 0 || size >= kStreamedSize) return std::nullopt;
      return static_cast<double>(size) / bytes_per_second;
    }
    uint32_t skip = size + (size & 1);
    if (id == "fmt " && size >= 16) {
      char format[16];
      if (!file.read(format, 16)) return std::nullopt;
      bytes_per_second = byte_rate(format);
      skip -= 16;
    }
    file.seekg(skip, std::ios::cur);
  }
  return std::nullopt;
}

}  // namespace sotto
