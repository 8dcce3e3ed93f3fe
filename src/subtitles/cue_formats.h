// The readers and writers of cue_file.h, one pair for each family of formats.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/subtitles/cue_file.h"

namespace sotto {

using MovedTime = std::function<int64_t(int64_t)>;  // may be empty

// Lines without their ends.
std::vector<std::string> lines_of_file(std::string_view content);

std::string replaced(std::string_view text, std::string_view from, std::string_view to);

// "01:02:03,456", with so many digits of hours at least and so many behind the mark (3, or 2: rounded).
std::string file_clock(int64_t ms, int hour_digits, char mark, int digits = 3);

// The times of a text that stand in it between two marks, as in "<00:01.500>", moved and written by `written`.
std::string with_moved_times(std::string_view text, char open, char close, const MovedTime& moved,
                             const std::function<std::string(int64_t)>& written);

// Each gives what it read; no cue where the content is of another format. content: in UTF-8 with '\n' as line ends.
CueFile parse_blocks(std::string_view content, CueFormat format);  // SRT, WebVTT
CueFile parse_ass(std::string_view content);
CueFile parse_table(std::string_view content, CueFormat format);   // TSV, CSV; columns start and end in milliseconds
CueFile parse_sbv(std::string_view content);
CueFile parse_lrc(std::string_view content);
CueFile parse_ttml(std::string_view content);

std::string write_blocks(const CueFile& file, const MovedTime& moved);
std::string write_ass(const CueFile& file, const MovedTime& moved);
std::string write_table(const CueFile& file);
std::string write_sbv(const CueFile& file);
std::string write_lrc(const CueFile& file, const MovedTime& moved);
std::string write_ttml(const CueFile& file, const MovedTime& moved);

// Index of a column; -1: there is none.
int column(const CueFile& file, std::string_view name);

}  // namespace sotto
