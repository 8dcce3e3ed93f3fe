// Sound that has been read but may be asked for again, as s16: exact for Pcm, whose samples are multiples of 1 / 32768.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

class SoundStore {
 public:
  // keep_all: nothing is ever dropped; what outgrows memory goes to an unnamed temporary file.
  explicit SoundStore(bool keep_all) : keep_all_(keep_all) {}
  ~SoundStore();
  SoundStore(const SoundStore&) = delete;
  SoundStore& operator=(const SoundStore&) = delete;

  // Throws Error if the temporary file can't be made or the disk is full.
  void append(std::span<const float> samples);

  // Samples [first, first + n), zeros past the end; first isn't before what was dropped.
  void read(int64_t first, int64_t n, float* out) const;

  void drop_before(int64_t sample);  // of no effect with keep_all
  int64_t size() const { return memory_first_ + std::ssize(memory_); }

 private:
  void spill();

  const bool keep_all_;
  int file_ = -1;
  int64_t kept_first_ = 0;
  int64_t memory_first_ = 0;  // samples before it are in the file, or gone
  std::vector<int16_t> memory_;
};

}  // namespace sotto
