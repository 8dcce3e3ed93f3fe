// What breaks a style's rules in a subtitle file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/subtitles/cue_file.h"
#include "src/subtitles/style.h"

namespace sotto {

struct Breach {
  int line;      // of the file, from 1
  bool hard;     // columns, lines, order, gap, longest time, outside of the sound, no text, what can't be read
  std::string what;  // a phrase with the figures
};

// All breaches, by line. Soft are: too fast to read, too short, a line that ends with a word that belongs to the next, two
// lines of which one is less than half as long as the other, a cut of the picture more than half a second from both ends
// of a cue, SRT's numbers out of order. language: code; "": no word lists. duration_ms: of the sound; 0: not known.
// cuts_ms: ascending.
std::vector<Breach> check_cues(const CueFile& file, const SubtitleStyle& style, std::string_view language,
                               int64_t duration_ms, std::span<const int64_t> cuts_ms = {});

}  // namespace sotto
