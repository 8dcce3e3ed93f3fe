// openai-whisper's cues.
#pragma once

#include <vector>

#include "src/subtitles/cue.h"
#include "src/subtitles/style.h"
#include "src/transcript.h"

namespace sotto {

// One cue for each segment with text, from its first word to its last where words have times. With columns, lines or
// words_per_line set, lines are filled up word by word: a line has at most so many characters; a cue ends after so many
// lines, after a pause of 3 s between the starts of two words, and with its segment unless columns and lines are both
// set; without columns a cue has so many words and one line. Source: openai/whisper utils.py (20250625).
// Unlike there, cues never overlap, and a word without time has a frame.
std::vector<Cue> whisper_cues(const Transcript& transcript, const SubtitleOptions& options);

}  // namespace sotto
