// Subtitle files moved in time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/subtitles/cue_file.h"

namespace sotto {

// new = factor * old + shift_ms
struct TimeMap {
  double factor = 1, shift_ms = 0;
  int64_t operator()(int64_t ms) const;
};

struct Anchor {
  int64_t from_ms, to_ms;
};

// One anchor moves everything by the same; two stretch it as well. Throws Error for two that can't be.
TimeMap through(std::span<const Anchor> anchors);

// Times and times within texts. A time before the beginning becomes 0; gives how many cues end there and so vanish.
int retime(CueFile& file, const TimeMap& map);

// A stretch that is wide enough for every cue that it touches.
struct Stretch {
  int64_t start_ms, end_ms;
};
Stretch widened(const CueFile& file, Stretch stretch);

// Takes the cues that begin within a stretch out of a file and puts others in. `added` are cut where a neighbour is,
// gap_ms from it.
void splice(CueFile& file, Stretch stretch, std::span<const FileCue> added, int64_t gap_ms);

}  // namespace sotto
