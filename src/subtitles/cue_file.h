// Subtitle files (SRT and WebVTT) as they are found in the world.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

struct FileCue {
  std::vector<std::string> before;  // lines above its number or name: WebVTT's header and notes
  std::string name;                 // SRT's number, WebVTT's identifier; empty: none
  int line = 0;                     // number of the line with its times, from 1
  int64_t start_ms = 0, end_ms = 0;
  std::string settings;             // behind the times, with the space before them
  std::vector<std::string> text;    // as it is written, with its tags; the last line isn't blank
};

struct CueFile {
  bool vtt = false;
  std::vector<FileCue> cues;
  std::vector<std::string> after;     // lines behind the last cue
  std::vector<int> unreadable_lines;  // numbers of lines with "-->" that hold no times
};

// Takes what players take: any line ends and byte order mark, hours of any length or none, ',' or '.' and one to three
// digits behind it, missing or wrong numbers, missing or additional blank lines, blank lines within a text. path: "-" is
// standard input. Throws Error for a file that can't be read or has no cue.
CueFile read_cue_file(const std::string& path);
CueFile parse_cue_file(const std::string& content);

// The file's content, SRT's cues numbered from 1. Times that WebVTT has within a text are moved by `moved`, if there is
// one, from milliseconds to milliseconds.
std::string write_cue_file(const CueFile& file, const std::function<int64_t(int64_t)>& moved = nullptr);

// A line of text as it is shown: without tags, {\an8} and the like; WebVTT's entities decoded.
std::string shown(std::string_view written, bool vtt);

// "1:02:03.5", "02:03,500" or "123.5", in milliseconds. The text may go on behind it: end is where. Negative: "-5".
std::optional<int64_t> parse_time_ms(std::string_view text, size_t& end);

// The whole text as a time. Throws Error, naming what it is for.
int64_t time_ms(std::string_view text, std::string_view what_for);

}  // namespace sotto
