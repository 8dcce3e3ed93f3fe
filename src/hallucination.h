// Where the next window begins once words have times, and how text that was made up in silence is dropped. Source:
// openai/whisper transcribe.py (hallucination_silence_threshold). Positions are mel frames, 10 ms each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/segments.h"
#include "src/transcript.h"
#include "src/windows.h"

namespace sotto {

// Frames from the window's beginning to the next one's: to the end of the last word unless the window is closed, which
// is surer than a timestamp. With a threshold (seconds) behind the window if no more than that is left of it.
int64_t advance_by_words(const Window& window, const Cut& cut, std::optional<double> threshold_s);

// If the first segment with words looks made up and more than threshold_s lies before it: the frames of that silence.
// The window is to be dropped and decoded again from there on.
std::optional<int64_t> leading_silence(const Window& window, std::span<const Segment> segments, double threshold_s);

// Drops the segments from the first one on that looks made up and has silence, or more that is made up, on both sides;
// then gives the frames to advance by, else none. last_speech_s: where the last word before the window ends;
// sound_end: the sound's last frame, or a later one than any that matters where it isn't known yet.
std::optional<int64_t> drop_made_up(const Window& window, std::vector<Segment>& segments, double threshold_s,
                                    double last_speech_s, int64_t sound_end);

}  // namespace sotto
