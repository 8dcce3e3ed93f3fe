// Transcripts that were written before, to lay them out again.
#pragma once

#include <string>
#include <vector>

#include "src/transcript.h"

namespace sotto {

// Transcripts of a JSON file, or one on each line of a jsonl file: this program's, openai-whisper's, or any other with
// "segments" that have "start", "end", "text" and perhaps "words" with "word", "start" and "end". path: "-" is standard
// input. Throws Error.
std::vector<Transcript> read_transcripts(const std::string& path);

}  // namespace sotto
