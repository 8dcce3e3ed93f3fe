#include "src/subtitles/read_text_file.h"

#include <utf8proc.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "models/error.h"

namespace sotto {
namespace {

std::string bytes_of(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> opened(path == "-" ? nullptr : std::fopen(path.c_str(), "rb"),
                                                     [](FILE* file) { return std::fclose(file); });
  FILE* file = path == "-" ? stdin : opened.get();
  if (!file) throw Error(input_name(path) + " can't be opened: " + std::strerror(errno));
  std::string bytes;
  char block[65536];
  while (const size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
  if (std::ferror(file)) throw Error(input_name(path) + " can't be read: " + std::strerror(errno));
  return bytes;
}

// high: which byte of two is the higher one.
std::string from_utf16(std::string_view bytes, size_t high) {
  std::string text;
  char32_t lead = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const auto unit = static_cast<char32_t>(static_cast<unsigned char>(bytes[i + high]) << 8 |
                                            static_cast<unsigned char>(bytes[i + 1 - high]));
    if (unit >= 0xD800 && unit < 0xDC00) {
      lead = unit;
      continue;
    }
    const bool pair = lead && unit >= 0xDC00 && unit < 0xE000;
    const char32_t code = pair ? 0x10000 + ((lead - 0xD800) << 10) + (unit - 0xDC00) : unit;
    utf8proc_uint8_t encoded[4];
    const auto length = utf8proc_encode_char(static_cast<int32_t>(code), encoded);
    text.append(reinterpret_cast<const char*>(encoded), static_cast<size_t>(length));
    lead = 0;
  }
  return text;
}

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string read_text_file(const std::string& path) {
  std::string text = bytes_of(path);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    text = from_utf16(std::string_view(text).substr(2), text[0] == '\xFF' ? 1 : 0);
  else if (text.starts_with("\xEF\xBB\xBF"))
    text.erase(0, 3);
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    lines += text[i] == '\r' ? '\n' : text[i];
  }
  return lines;
}

}  // namespace sotto
