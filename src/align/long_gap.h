// A gap between words that were found which is longer than what a decoder hears at once: in which of its parts its words are.
#pragma once

#include <span>
#include <vector>

#include "audio/speech_finder.h"

namespace sotto {

struct GapPart {
  double start_s, end_s;
  double voiced_s;
};

// The speech between two times in parts of up to most_s, parted at the longest silences.
std::vector<GapPart> parts_of_gap(double from_s, double until_s, std::span<const Speech> speech, double most_s);

// Where the parts' pieces begin if everybody speaks at the same pace: [parts + 1] indices, the last one of the end.
// lengths: of the pieces' texts.
std::vector<int> expected_cuts(std::span<const GapPart> parts, std::span<const int> lengths);

}  // namespace sotto
