// Speech that was heard but that no text covers: a decoder may end early, or leap over a sentence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/speech_finder.h"
#include "models/dims.h"
#include "src/transcript.h"
#include "src/windows.h"

namespace sotto {

constexpr int64_t kWorthAPass = kSampleRate;  // of speech that no text covers
constexpr int kMostPasses = 2;                // over one place, each over a shorter stretch

// The stretches of sound between segments (by their words where they have any) in which somebody speaks for `least`
// samples or more: each from the first speech in it to the last. heard: in order, in samples. Times of text may be off
// by a quarter of a second.
std::vector<Speech> lost_speech(std::span<const Speech> heard, std::span<const Segment> segments, int64_t least);

// The part of a window to decode again for it: with pad_ms of sound on both sides, as far as that lies in the window and
// in none of its text.
Window window_around(const Speech& lost, const Window& whole, std::span<const Segment> segments, int pad_ms);

}  // namespace sotto
