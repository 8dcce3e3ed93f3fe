// The writers, one file for each family of formats; writers.h says what holds for all.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/subtitles/cue.h"
#include "src/transcript.h"

namespace sotto {

// Of cues. karaoke: each word with its own time.
std::string render_srt(std::span<const Cue> cues, int first_number = 1);
std::string render_sbv(std::span<const Cue> cues);                // YouTube's
std::string render_vtt(std::span<const Cue> cues, bool karaoke);  // W3C WebVTT; each speaker has a colour
std::string render_lrc(std::span<const Cue> cues, bool karaoke);  // lyrics, a line for each cue; "enhanced" has words
std::string render_ass(std::span<const Cue> cues, bool karaoke);  // Advanced SubStation Alpha v4+; speakers are styles
// W3C IMSC 1.1, text profile. language: code, for the reader's fonts and direction; may be empty.
std::string render_ttml(std::span<const Cue> cues, std::string_view language, bool karaoke);

// Of segments.
std::string render_txt(const Transcript& transcript);
std::string render_tsv(const Transcript& transcript);  // openai-whisper's
std::string render_csv(const Transcript& transcript);  // RFC 4180; times in milliseconds, who speaks where that is known
std::string render_aud(const Transcript& transcript);  // Audacity's labels
std::string render_otr(const Transcript& transcript);  // oTranscribe's
std::string render_json(const Transcript& transcript);
std::string render_jsonl(const Transcript& transcript);

// For phoneticians and scoring programs.
std::string render_textgrid(const Transcript& transcript);  // Praat's; a tier of segments and one of words a speaker
std::string render_ctm(const Transcript& transcript);       // NIST's: a word a line, with its probability
std::string render_stm(const Transcript& transcript);       // NIST's: a segment a line
std::string render_rttm(const Transcript& transcript);      // NIST's: who speaks when

}  // namespace sotto
