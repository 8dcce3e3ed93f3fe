// sotto AUDIO --redo 00:10-00:25 FILE.srt: a stretch of subtitles anew.
#pragma once

#include <string>

#include "src/subtitles/cue_file.h"
#include "src/subtitles/retime.h"
#include "src/subtitles/style.h"
#include "src/transcript.h"

namespace sotto {

struct Redo {
  std::string path;
  CueFile file;
  Stretch stretch;  // as wide as the cues that it touches
};

// Of two times with '-' between them. Throws Error.
Stretch parse_stretch(const std::string& range);

// Throws Error.
Redo read_redo(Stretch stretch, const std::string& path);

// Puts the stretch's cues, laid out, in the place of those that were there, and writes the file.
void write_redo(Redo redo, const Transcript& transcript, const SubtitleOptions& options);

}  // namespace sotto
