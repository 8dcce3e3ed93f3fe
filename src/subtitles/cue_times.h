// When cues appear and vanish.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/subtitles/cue.h"
#include "src/subtitles/style.h"
#include "src/subtitles/units.h"

namespace sotto {

// The times that any stretch of units has as a cue, which depend on its neighbours' words alone:
// - it appears with its first word, or at a cut of the picture that is near;
// - it stays until its last word was said and there was time to read it, but no longer than the style allows, nor into
//   the gap before the next cue, nor beyond the sound; it vanishes before a cut that is near;
// - where the next cue comes soon, it stays up to the gap.
class CueTimes {
 public:
  // cuts_ms: times at which the picture changes, ascending. end_ms: of the sound; INT64_MAX where it isn't known.
  CueTimes(std::span<const Unit> units, const SubtitleStyle& style, std::span<const int64_t> cuts_ms, int64_t end_ms);

  int64_t start_ms(int begin) const { return starts_ms_[begin]; }
  int64_t end_ms(int begin, int end) const;  // may lie before the start where the next word comes at once
  int characters(int begin, int end) const { return characters_[end] - characters_[begin]; }
  int cuts_within(int64_t start_ms, int64_t end_ms) const;  // more than half a second from both

 private:
  std::span<const Unit> units_;
  const SubtitleStyle& style_;
  std::span<const int64_t> cuts_ms_;
  const int64_t end_ms_;
  std::vector<int64_t> starts_ms_;  // by unit
  std::vector<int> characters_;     // before a unit
};

// Moves cues that come too fast for each other: in order, each there for a moment, with the gap between them, none over
// the style's longest time, all inside the sound. Where the sound is too short to hold them all, they stay for less than
// that moment, then the gap goes; only more cues than milliseconds reach beyond its end.
void part_cues(std::span<Cue> cues, const SubtitleStyle& style, int64_t end_ms);

// Gives cues that are too fast to read what their neighbours can spare: begins them, or the cue after them, up to three
// frames off the voice. Where a cue begins at a cut of the picture it stays. Breaks none of part_cues' rules.
void lend_time(std::span<Cue> cues, const SubtitleStyle& style, std::span<const int64_t> cuts_ms);

}  // namespace sotto
