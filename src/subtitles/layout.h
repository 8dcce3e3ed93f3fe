// Transcripts to subtitles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/subtitles/cue.h"
#include "src/subtitles/style.h"
#include "src/transcript.h"

namespace sotto {

// The cues of a transcript in a style.
//
// Always: no line has more columns, no cue more lines than the style allows (but for a single character wider than
// that), cues are in order, no longer than the longest time, with the gap between them and inside the sound, and each
// has one speaker. part_cues (cue_times.h) says what gives way where a sound is too short for its cues.
// As far as the words allow: cues begin with their voice, can be read at the reading speed, stay for the shortest time or
// more, and break where the sense does (break_rules.h).
//
// cuts_ms: when the picture changes, ascending; cues begin at those that are near and end before them.
// Style "whisper": openai-whisper's cues, one for each segment that has text, or by its rules for max_line_width (columns),
// max_line_count (lines) and max_words_per_line, which need the times of words.
std::vector<Cue> lay_out(const Transcript& transcript, const SubtitleOptions& options,
                         std::span<const int64_t> cuts_ms = {});

}  // namespace sotto
