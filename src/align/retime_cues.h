// Subtitles whose words were timed anew: their cues and lines stay.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/subtitles/cue.h"
#include "src/subtitles/cue_file.h"
#include "src/subtitles/style.h"
#include "src/transcript.h"

namespace sotto {

// A cue's text on one line, without tags.
std::string shown_text(const FileCue& cue, CueFormat format);

// Gives each cue the time of its words (segments[i].words, in the cue's order), and as much longer as it takes to read it
// and as there is room. A cue without words, of which nothing was heard, moves like the one before it and stays if it
// finds room between its neighbours; else it is left out. Gives which cue of before each one is. end_ms: of the sound.
std::vector<int> retime_by_words(CueFile& file, std::span<const Segment> segments, const SubtitleStyle& style,
                                 int64_t end_ms);

// From a time within a cue of before to the same place of that cue now. kept: as retime_by_words gives it.
std::function<int64_t(int64_t)> moved_within(const CueFile& before, const CueFile& now, std::span<const int> kept);

// The cues as other formats show them, with the lines they have and the times of their words.
std::vector<Cue> cues_of(const CueFile& file, std::span<const Segment> segments, std::span<const int> kept);

}  // namespace sotto
