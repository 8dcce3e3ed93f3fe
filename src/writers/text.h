// What the writers share: times as digits, and texts that are safe to put into a file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/subtitles/cue.h"
#include "src/transcript.h"

namespace sotto {

// A stretch of time in whole milliseconds, as every format shows it: never negative, never ending before it starts.
struct Span {
  int64_t start_ms, end_ms;

  Span(double start_s, double end_s) : start_ms(to_ms(start_s)), end_ms(std::max(start_ms, to_ms(end_s))) {}

  static int64_t to_ms(double seconds) { return seconds > 0 ? std::llrint(std::min(seconds, 1e12) * 1000) : 0; }
};

inline Span span_of(const Segment& segment) { return {segment.start_s, segment.end_s}; }

enum class Hours { always, if_any };

// "01:02:03.456", hours of two digits or more.
std::string clock(int64_t ms, Hours hours, char decimal_mark);

// "3723.456": three decimals, exact however long the sound is.
std::string in_seconds(int64_t ms);

// Hundredths, rounded: what ASS and LRC count in.
inline int64_t to_cs(int64_t ms) { return (ms + 5) / 10; }

// Two digits at least.
std::string two_digits(int64_t value);

// The lines of a text that aren't blank, stripped, joined. Other control characters become spaces: a NUL or an escape
// sequence has no business in a subtitle or on a terminal, a tab would be a column in TSV. What is no character at all
// (U+FFFE and its like, which XML can't hold) becomes U+FFFD.
std::string lines_of(std::string_view text, std::string_view joint);

// A segment's text on one line, and before it who speaks, where that is known.
std::string spoken_line(const Segment& segment);

using Escapes = std::vector<std::pair<std::string_view, std::string_view>>;

// The text with each first of a pair replaced by the second, pair after pair.
std::string escaped(std::string text, const Escapes& escapes);

// For XML and HTML.
std::string xml_escaped(std::string text);

// Part of a line of a cue: a word with the space before it, or the name of who speaks.
struct Run {
  std::string text;
  int64_t start_ms = 0, end_ms = 0;  // within the cue's time, no word before the one before it
  bool label = false;
  bool marked = false;
};

// A cue's lines, none of them blank, with no white space at their ends; the label comes first.
std::vector<std::vector<Run>> runs_of(const Cue& cue);

// All speakers of some cues, in the order in which they come; cues without one don't count.
std::vector<std::string> speakers_of(std::span<const Cue> cues);

size_t number_of_speaker(const std::vector<std::string>& speakers, const std::string& speaker);  // from 0

// The n-th speaker's: white, yellow, cyan, green, as the BBC has them, then these again. rgb: red in the upper byte.
struct Colour {
  std::string_view name;
  uint32_t rgb;
};
constexpr Colour kSpeakerColours[] = {{"white", 0xFFFFFF}, {"yellow", 0xFFFF00}, {"cyan", 0x00FFFF}, {"lime", 0x00FF00}};

}  // namespace sotto
