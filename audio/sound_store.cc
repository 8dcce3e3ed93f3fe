#include "audio/sound_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "audio/temporary_file.h"
#include "models/error.h"

namespace sotto {

namespace {

constexpr int64_t kInMemory = 1 << 24;  // samples: 17 minutes, 32 MB
constexpr float kScale = 32768;

[[noreturn]] void fail(const char* what, int error) {
  throw Error(std::string(what) + " a temporary file for the decoded sound in " + temporary_folder() + " (" +
              std::strerror(error) + "); set TMPDIR to a folder with room (115 MB for an hour of sound)");
}

// To the nearest; NaN is silence. No library call, so that the compiler can vectorise the loop over it.
int16_t to_s16(float x) {
  x = x == x ? x * kScale + (x < 0 ? -0.5f : 0.5f) : 0;
  return static_cast<int16_t>(x > 32767 ? 32767 : x < -32768 ? -32768 : x);
}

}  // namespace

SoundStore::~SoundStore() {
  if (file_ >= 0) ::close(file_);
}

void SoundStore::append(std::span<const float> samples) {
  const size_t before = memory_.size();
  memory_.resize(before + samples.size());
  std::transform(samples.begin(), samples.end(), memory_.begin() + before, to_s16);
  if (keep_all_ && std::ssize(memory_) > kInMemory) spill();
}

void SoundStore::spill() {
  if (file_ < 0) file_ = open_unnamed_file();
  const char* from = reinterpret_cast<const char*>(memory_.data());
  const char* end = from + memory_.size() * sizeof(int16_t);
  while (from < end) {
    const ssize_t n = ::write(file_, from, end - from);
    if (n < 0 && errno != EINTR) fail("can't write", errno);
    from += std::max<ssize_t>(n, 0);
  }
  memory_first_ = size();
  memory_.clear();
}

void SoundStore::read(int64_t first, int64_t n, float* out) const {
  CHECK_INVARIANT(first >= kept_first_ && n >= 0);
  std::vector<int16_t> part;
  while (n > 0 && first < memory_first_) {
    part.resize(std::min<int64_t>({n, memory_first_ - first, 1 << 16}));
    const ssize_t bytes = ::pread(file_, part.data(), part.size() * sizeof(int16_t), first * sizeof(int16_t));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail("can't read", errno);
    CHECK_INVARIANT(bytes >= 2);  // nobody else can cut an unnamed file
    const int64_t got = bytes / 2;
    for (int64_t i = 0; i < got; ++i) *out++ = part[i] / kScale;
    first += got;
    n -= got;
  }
  const int64_t got = std::clamp<int64_t>(size() - first, 0, n);
  for (int64_t i = 0; i < got; ++i) *out++ = memory_[first - memory_first_ + i] / kScale;
  std::fill(out, out + (n - got), 0.0f);
}

void SoundStore::drop_before(int64_t sample) {
  if (keep_all_) return;
  kept_first_ = std::clamp(sample, kept_first_, size());
  const int64_t unused = kept_first_ - memory_first_;
  if (unused * 2 < std::ssize(memory_)) return;  // moves at most as much as was dropped
  memory_.erase(memory_.begin(), memory_.begin() + unused);
  memory_first_ = kept_first_;
}

}  // namespace sotto
