// Parts of a file that are transcribed as if they were all of it: a stretch, and each channel of a call.
#pragma once

#include <functional>

#include "src/transcribe.h"

namespace sotto {

// Transcribes what a decoder gives; times count from the first sample of that.
using TranscribePart = std::function<Transcript(const Sound&, const TranscribeOptions&, const Listener&)>;

// A stretch of a file (DecodeOptions::start_s), with times of the whole file, clips' times too.
Transcript transcribe_stretch(const Sound& sound, const TranscribeOptions& options, const Listener& listener,
                              const TranscribePart& transcribe);

// Each channel after the other, all segments in the order of their times, with the channel as the speaker. Where there
// is but one channel, or all hold the same, that is said and the sound is transcribed as ever. Throws Error for what can
// be read only once.
Transcript transcribe_channels(const Sound& sound, const TranscribeOptions& options, const Listener& listener,
                               const TranscribePart& transcribe);

}  // namespace sotto
