// A transcript as the layout takes it: words that may stand on a line, with what a break before each of them costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/subtitles/columns.h"
#include "src/subtitles/cue.h"
#include "src/transcript.h"

namespace sotto {

inline constexpr float kNoBreak = 1e9f;  // what a break costs that must not be

struct Unit {
  CueWord word;          // without a space before it
  TextSize size;         // of its text
  bool space = false;    // before it, unless it begins a line
  int segment = 0, speaker = 0;  // the transcript's n-th segment; a number for its speaker
  float break_cost = 0;  // of a line that begins with it: 0 behind a sentence, 1 between two words like any others
  bool begins_sentence = false;
};

struct WrittenWord {
  std::string text;
  bool space;  // before it
};

// The words of a text that nobody has timed: what stands between spaces, and each character of scripts without them.
std::vector<WrittenWord> written_words(std::string_view text);

// The words of all segments in order, stripped and without control characters, in times that never go back; words wider
// than a line are cut between graphemes. A segment without words has its time shared out among its text's words by their
// length. The costs of breaks are set by break_rules.h. columns: of a line.
std::vector<Unit> units_of(const Transcript& transcript, int columns);

}  // namespace sotto
