// Times for a text that is there already. The sound is transcribed with the times of its words; the given words are matched
// to these; then each window's given words are fed to the decoder, whose attention tells when each is spoken. What isn't
// heard gets no time, and what is heard without a text is told.
#pragma once

#include <string>
#include <vector>

#include "src/transcribe.h"
#include "src/transcript.h"

namespace sotto {

struct GivenText {
  std::string text;
  std::string speaker;
};

struct AlignedText {
  // A segment for each text, with its words. Words that weren't heard take no time, where the word before them ends, and
  // have probability 0. A text of which nothing was heard has no words.
  Transcript transcript;
  struct Stretch {
    int segment;             // where it begins; of untold: the one before it, -1: none
    double start_s, end_s;   // of untold
    std::string text;
  };
  std::vector<Stretch> unheard;  // words of the given text, those of several texts in a row together
  std::vector<Stretch> untold;   // speech that no text was given for, as it was recognised
};

// options: as for a transcription; words are timed in any case. Throws Error where transcribe() does, and for sound that
// can be read but once.
AlignedText align_text(Engine& engine, const Sound& sound, const TranscribeOptions& options,
                       const std::vector<GivenText>& given, const Listener& listener);

}  // namespace sotto
