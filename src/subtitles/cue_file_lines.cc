// SBV, which YouTube takes, and LRC, lines of songs.
#include <algorithm>
#include <cctype>

#include "models/utf8.h"
#include "src/subtitles/cue_formats.h"

namespace sotto {
namespace {

constexpr int64_t kLastLineMs = 5000;   // of a song, where nothing says when it ends
constexpr int64_t kPauseMs = 1000;      // after which a line of a song is told to end

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Times {
  int64_t start_ms, end_ms;
};

std::optional<Times> sbv_times(std::string_view line) {
  line = strip(line);
  size_t first = 0, second = 0;
  const auto start_ms = parse_time_ms(line, first);
  if (!start_ms || first >= line.size() || line[first] != ',' || line.substr(0, first).find(':') == line.npos)
    return std::nullopt;
  const auto end_ms = parse_time_ms(line.substr(first + 1), second);
  if (!end_ms || first + 1 + second != line.size()) return std::nullopt;
  return Times{*start_ms, *end_ms};
}

// Looks like times, whether it is any or not.
bool may_be_sbv_times(std::string_view line) {
  return line.find(',') != line.npos && std::ranges::count(line, ':') >= 2 &&
         line.find_first_not_of("0123456789:.,-; ") == line.npos;
}

std::string lrc_clock(int64_t ms) {
  const int64_t cs = (std::max<int64_t>(ms, 0) + 5) / 10;
  const auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return two(cs / 6000) + ':' + two(cs / 100 % 60) + '.' + two(cs % 100);
}

struct SongLine {
  int line;
  int64_t start_ms;
  std::string text;
};

}  // namespace

CueFile parse_sbv(std::string_view content) {
  CueFile file;
  file.format = CueFormat::sbv;
  int number = 0;
  bool open = false;  // a text
  for (const std::string& line : lines_of_file(content)) {
    ++number;
    if (const auto times = sbv_times(line)) {
      file.cues.push_back({.line = number, .start_ms = times->start_ms, .end_ms = times->end_ms});
      open = true;
    } else if (may_be_sbv_times(line)) {
      file.bad_lines.push_back({number, "the times can't be read"});
      open = false;
    } else if (strip(line).empty()) {
      open = false;
    } else if (open) {
      file.cues.back().text.push_back(line);
    } else if (!file.cues.empty()) {
      file.bad_lines.push_back({number, "it belongs to no subtitle"});
    }
  }
  return file;
}

std::string write_sbv(const CueFile& file) {
  std::string out;
  for (const FileCue& cue : file.cues) {
    out += file_clock(cue.start_ms, 1, '.') + ',' + file_clock(cue.end_ms, 1, '.') + '\n';
    for (const std::string& line : cue.text) out.append(line).append("\n");
    out += '\n';
  }
  return out;
}

// A line is there until the next one, which may be empty. One with several times comes several times.
CueFile parse_lrc(std::string_view content) {
  CueFile file;
  file.format = CueFormat::lrc;
  std::vector<SongLine> lines;
  std::vector<std::string> before;
  int number = 0;
  for (const std::string& line : lines_of_file(content)) {
    ++number;
    std::string_view rest = strip(line);
    const size_t n_before = lines.size();
    while (rest.size() > 1 && rest[0] == '[' && is_digit(rest[1])) {
      size_t end = 0;
      const auto ms = parse_time_ms(rest.substr(1), end);
      if (!ms || rest.substr(1, end).find(':') == rest.npos || end + 1 >= rest.size() || rest[end + 1] != ']') {
        file.bad_lines.push_back({number, "the time can't be read"});
        break;
      }
      lines.push_back({number, *ms, ""});
      rest.remove_prefix(end + 2);
    }
    for (size_t i = n_before; i < lines.size(); ++i) lines[i].text = strip(rest);
    if (lines.size() == n_before && !rest.empty()) (lines.empty() ? before : file.after).push_back(line);
  }
  std::ranges::stable_sort(lines, {}, &SongLine::start_ms);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text.empty()) continue;
    const int64_t end_ms = i + 1 < lines.size() ? lines[i + 1].start_ms : lines[i].start_ms + kLastLineMs;
    file.cues.push_back({.line = lines[i].line, .start_ms = lines[i].start_ms, .end_ms = end_ms, .text = {lines[i].text}});
  }
  if (!file.cues.empty()) file.cues.front().before = std::move(before);
  return file;
}

std::string write_lrc(const CueFile& file, const MovedTime& moved) {
  std::string out;
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out.append(line).append("\n");
  };
  for (size_t i = 0; i < file.cues.size(); ++i) {
    const FileCue& cue = file.cues[i];
    add(cue.before);
    std::string text;
    for (const std::string& line : cue.text) text.append(text.empty() ? "" : " ").append(line);
    if (moved) text = with_moved_times(text, '<', '>', moved, lrc_clock);
    out += '[' + lrc_clock(cue.start_ms) + ']' + text + '\n';
    if (i + 1 == file.cues.size() || file.cues[i + 1].start_ms - cue.end_ms >= kPauseMs)
      out += '[' + lrc_clock(cue.end_ms) + "]\n";
  }
  add(file.after);
  return out;
}

}  // namespace sotto
