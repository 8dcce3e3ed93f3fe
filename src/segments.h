// From the tokens of one window to segments with times, and to the place where the next window begins. Source:
// openai/whisper transcribe.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tokenizer.h"
#include "src/transcript.h"
#include "src/windows.h"

namespace sotto {

struct Cut {
  std::vector<Segment> segments;  // times, text and tokens; the rest is the caller's
  int64_t advance = 0;            // frames from this window's beginning to the next one's
  bool closed = false;            // a single timestamp at the end: nothing is spoken after it
};

// Cuts where two timestamps stand side by side. A single timestamp at the end says that nothing is spoken after it, so
// the next window begins behind this one; otherwise it begins at the last timestamp, and what came after it is decoded
// again. Without a pair there is one segment, and the next window begins behind this one.
Cut cut_into_segments(const Window& window, std::span<const int> tokens, const Tokenizer& tokenizer);

// The same for a window that ends in silence and stands alone: what comes after the last pair is a segment, too, that
// lasts to the window's end. ended: by end-of-transcript; where it isn't, the last segment may lack words, so that
// `advance` is where it begins.
Cut cut_whole_window(const Window& window, std::span<const int> tokens, bool ended, const Tokenizer& tokenizer);

// Takes text and tokens from segments that take no time or say nothing; they stay in the list, as in the reference.
void clear_blank_segments(std::vector<Segment>& segments);

// Moves times of segments and words into first_s ... last_s (the reference lets them pass the end of the sound).
void clamp_times(std::vector<Segment>& segments, double first_s, double last_s);

}  // namespace sotto
