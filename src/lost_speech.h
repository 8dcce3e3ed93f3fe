// Speech that was heard but that no text covers: a decoder may end early, or leap over a sentence.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "audio/speech_finder.h"
#include "models/dims.h"
#include "models/tokenizer.h"
#include "src/transcript.h"
#include "src/windows.h"

namespace sotto {

constexpr int64_t kWorthAPass = kSampleRate;      // of speech that no text covers
constexpr int kMostPasses = 2;                    // over one place, each over a shorter stretch
constexpr int64_t kShortestGap = kSampleRate / 2; // of speech; less is a breath, or the edge of a word

// The stretches of sound between segments (by their words where they have any) in which somebody speaks for `least`
// samples or more: each from the first speech in it to the last. heard: in order, in samples. Times of text may be off
// by a quarter of a second, and of a word longer than its letters can last only the two ends count.
std::vector<Speech> lost_speech(std::span<const Speech> heard, std::span<const Segment> segments, int64_t least);

// Whether a segment says so little for the speech under it that some of that may be lost, which its times alone don't
// tell. eot: the first token that is no text.
bool is_thin(const Segment& segment, std::span<const Speech> heard, int eot);

// Makes two segments of one with words where speech lies between the words that neither of them covers, so that the
// segments' times cover nothing that isn't in their text.
void part_at_lost_speech(std::vector<Segment>& segments, std::span<const Speech> heard, const Tokenizer& tokenizer);

// Whether a text is longer than what can be said in so many samples, and so many more.
bool is_too_fast(std::string_view text, int64_t n_samples, int64_t more = kSampleRate);

// The part of a window to decode again for it: with pad_ms of sound on both sides, as far as that lies in the window and
// in none of its text.
Window window_around(const Speech& lost, const Window& whole, std::span<const Segment> segments, int pad_ms);

}  // namespace sotto
