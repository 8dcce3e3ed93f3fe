// The rules that subtitles are laid out by: presets, and what a user wants otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto {

// What a user asks for; what isn't set is the preset's.
struct SubtitleOptions {
  std::string style;                  // a preset; whisper: openai-whisper's cues; empty: see below
  std::optional<int> columns, lines;  // of a line; of a cue
  std::optional<int> words_per_line;
  std::optional<double> reading_speed;          // characters (graphemes, spaces among them) a second
  std::optional<double> min_s, max_s;           // a cue is shown
  std::optional<double> fps;                    // the video's frames a second
  std::optional<double> gap_frames;             // at least between two cues
  std::optional<double> close_gap_s;            // pauses shorter than this are filled, up to that gap
  bool highlight_words = false;                 // openai-whisper's
  bool karaoke = false;                         // each word's own time, in formats that have it
  std::string shots;                            // a file of cuts, or "auto": look for them in the video; empty: none
};

// The rules for one transcript. Times in milliseconds, widths in columns, of which a full-width character takes two.
struct SubtitleStyle {
  int columns, lines, words_per_line;
  double reading_speed;
  int64_t min_ms, max_ms;
  double frame_ms;
  int64_t gap_ms, close_gap_ms;
  bool by_segment;  // no cue holds words of two segments
};

// A language's lines are as long and as fast to read as its script wants: 16 full-width characters for Chinese and
// Korean, 13 for Japanese. language: code. Throws Error for a style that isn't there and for values that can't be.
SubtitleStyle resolve(const SubtitleOptions& options, std::string_view language);

// Whether cues are those of openai-whisper, which keep none of a style's rules: in style "whisper", and without a style
// where one of its own options is set (columns, lines, words_per_line, highlight_words). Without a style or these it is
// "broadcast".
bool is_whisper(const SubtitleOptions& options);

// Whether cues can be no better than the times of their words.
bool needs_words(const SubtitleOptions& options);

}  // namespace sotto
