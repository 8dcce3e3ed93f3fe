// The one form in which sound crosses folders.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto {

// A stretch of 16 kHz mono sound.
struct Pcm {
  int64_t start = 0;           // time of the first sample, in samples since the start of the file's timeline
  std::vector<float> samples;  // [-1, 1); whole multiples of 1 / 32768: rounded to s16 as the reference's input is
};

}  // namespace sotto
