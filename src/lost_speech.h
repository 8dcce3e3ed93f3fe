// Speech that was heard but that no text covers: a decoder may end early, or leap over a sentence.
#pragma once

#include <span>
#include <vector>

#include "audio/speech_finder.h"
#include "src/transcript.h"

namespace sotto {

// Stretches of sound between segments (in order; by their words where they have any) in which somebody speaks for a
// second or more, in samples: from the first speech in it to where the next text, or the last speech, is.
std::vector<Speech> lost_speech(std::span<const Speech> heard, std::span<const Segment> segments);

}  // namespace sotto
