// What became of each second of a sound: nobody should have to find out by listening that a sentence is missing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/speech_finder.h"
#include "src/options.h"
#include "src/transcript.h"
#include "src/windows.h"

namespace sotto {

// clips: what was asked for, in frames. reached: the frame up to which it was done; what follows was skipped. speech: all
// that was heard, in samples, or null where nobody listened; then what no text covers counts as silence.
Coverage coverage_of(const Transcript& transcript, std::span<const Clip> clips, int64_t reached,
                     const std::vector<Speech>* speech, const ThresholdOptions& thresholds);

// Of two channels of one sound: what is worse counts, and text more than silence.
Coverage merged(const Coverage& a, const Coverage& b);

// Of a stretch that begins by_s into a file, to that of the file; what lies before was skipped.
void shift(Coverage& coverage, double by_s);

std::string_view name(Fate fate);  // "low_confidence"

// "98.7 % of speech transcribed; 2 gaps, see --coverage". Empty where nobody listened for speech, or there was none.
std::string sentence(const Coverage& coverage);

}  // namespace sotto
