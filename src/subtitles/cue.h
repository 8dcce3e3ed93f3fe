// Subtitles as they are shown: what the layout gives, and the subtitle formats take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sotto {

struct CueWord {
  int64_t start_ms = 0, end_ms = 0;  // when it is spoken, which may be outside of the cue's time by a little
  std::string text;                  // with a space before it, unless it begins a line or is written without
  float probability = 0;
  bool marked = false;               // underlined: it is being spoken
};

using CueLine = std::vector<CueWord>;

struct Cue {
  int64_t start_ms = 0, end_ms = 0;
  std::vector<CueLine> lines;  // none of them blank
  std::string speaker;         // empty: not known
};

std::string text_of(const CueLine& line);

// The lines one below the other, joined by '\n'.
std::string text_of(const Cue& cue);

// As many cues for each as openai-whisper's --highlight-words gives: one for each word, which is marked, and one for each
// pause between words.
std::vector<Cue> with_each_word_marked(std::span<const Cue> cues);

}  // namespace sotto
