#include "src/live/kept_sound.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "models/error.h"

namespace sotto {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("the sound can't be kept in " + path + " to be transcribed again: " + std::strerror(error) +
              "; set TMPDIR to a folder with room, or leave out --refine");
}

}  // namespace

KeptSound::KeptSound() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "sotto-live-XXXXXX").string();
  file_ = mkstemp(path_.data());
  if (file_ < 0) fail(path_, errno);
}

KeptSound::~KeptSound() {
  close(file_);
  unlink(path_.c_str());
}

void KeptSound::push(std::span<const float> samples) {
  samples_.resize(samples.size());
  std::ranges::transform(samples, samples_.begin(), [](float x) {
    return static_cast<int16_t>(std::lround(std::clamp(x * 32768.0f, -32768.0f, 32767.0f)));
  });
  auto bytes = std::as_bytes(std::span(samples_));
  while (!bytes.empty()) {
    const ssize_t n = write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) fail(path_, errno);
    bytes = bytes.subspan(std::max<ssize_t>(n, 0));
  }
}

Sound KeptSound::sound() const { return {path_, {.raw = "s16le:16000:1"}}; }

}  // namespace sotto
