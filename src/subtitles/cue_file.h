// Subtitle files as they are found in the world.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

enum class CueFormat { srt, vtt, ass, ttml, sbv, lrc, tsv, csv };

struct FileCue {
  std::vector<std::string> before;  // lines above it that are none of its own: headers, notes, comments
  std::string name;                 // SRT's number, WebVTT's identifier; empty: none
  int line = 0;                     // number of the line with its times, from 1
  int64_t start_ms = 0, end_ms = 0;
  std::string settings;             // behind the times, with the space before them: SRT, WebVTT
  std::vector<std::string> text;    // lines as they are written, with their tags; the last one isn't blank
  std::vector<std::string> fields;  // of its row: ASS, TSV, CSV
  int element = -1;                 // the source's n-th paragraph; of a new cue the one that it is to be like: TTML
  bool is_new = false;
};

struct BadLine {
  int line;          // from 1
  std::string what;  // a phrase
};

struct CueFile {
  CueFormat format = CueFormat::srt;
  std::vector<FileCue> cues;
  std::vector<std::string> after;    // lines behind the last cue
  std::vector<BadLine> bad_lines;    // that hold no times where some should be, no UTF-8, a NUL
  std::vector<std::string> columns;  // names of the fields of a row, in small letters: ASS, TSV, CSV
  std::string source;                // TTML as it was read
};

// Takes what players take: any line ends and byte order mark, hours of any length or none, ',' or '.' and one to three
// digits behind it, missing or wrong numbers, missing or additional blank lines, blank lines within a text; SubStation
// Alpha of both versions; TTML by clock, frames, ticks or seconds; what is no subtitle (comments, drawings, styles) stays.
// path: "-" is standard input. Throws Error for a file that can't be read or has no cue.
CueFile read_cue_file(const std::string& path);

// By what the content looks like. Has no cue where it holds no subtitles. Throws Error for TTML that isn't XML.
CueFile parse_cue_file(const std::string& content);

// The file's content, SRT's cues numbered from 1. Times within a text are moved by `moved`, if there is one, from
// milliseconds to milliseconds.
std::string write_cue_file(const CueFile& file, const std::function<int64_t(int64_t)>& moved = nullptr);

// Takes cues out; what stood above them stays. Gives how many there were.
int erase_cues(CueFile& file, const std::function<bool(const FileCue&)>& erased);

// A cue of a file of the same format in the shape of this file's: it gets the looks of `like`, if there is one.
FileCue in_shape_of(const CueFile& file, const FileCue* like, const CueFile& other, const FileCue& cue);

// A line of text as it is shown: without tags, commands in braces and the like; entities decoded.
std::string shown(std::string_view written, CueFormat format);

// The file's line, from 1, of a cue's n-th line of text.
int line_of_text(const CueFile& file, const FileCue& cue, size_t n);

std::string_view name_of(CueFormat format);       // "WebVTT"
std::string_view extension_of(CueFormat format);  // "vtt"

// How exactly the format tells times, in milliseconds.
int64_t step_ms(CueFormat format);

// "1:02:03.5", "02:03,500" or "123.5", in milliseconds. The text may go on behind it: end is where. Negative: "-5".
std::optional<int64_t> parse_time_ms(std::string_view text, size_t& end);

// The whole text as a time. Throws Error, naming what it is for.
int64_t time_ms(std::string_view text, std::string_view what_for);

}  // namespace sotto
