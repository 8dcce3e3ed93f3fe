// All the sound of a session, to be transcribed once more at its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/transcribe.h"

namespace sotto {

// In a temporary file (in $TMPDIR, else /tmp), which goes with this: 115 MB for an hour.
class KeptSound {
 public:
  KeptSound();  // throws Error if the file can't be made
  ~KeptSound();
  KeptSound(const KeptSound&) = delete;
  KeptSound& operator=(const KeptSound&) = delete;

  void push(std::span<const float> samples);  // 16 kHz mono; throws Error for a disk that is full

  Sound sound() const;  // all that was pushed, for transcribe()

 private:
  std::string path_;
  int file_ = -1;
  std::vector<int16_t> samples_;  // scratch
};

}  // namespace sotto
