// SubRip and WebVTT: blocks of a name, a line of times and lines of text.
#include <algorithm>
#include <cctype>
#include <optional>

#include "models/utf8.h"
#include "src/subtitles/cue_formats.h"

namespace sotto {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(const std::string& line) { return strip(line).empty(); }

struct TimesLine {
  int64_t start_ms, end_ms;
  std::string settings;
  std::string arrow;
};

// "->" and the like stand where "-->" should in files made by hand; colons tell such a line from text.
std::optional<TimesLine> times_of(std::string_view line) {
  size_t end = 0, rest = 0;
  const std::string_view text = strip(line);
  const auto start_ms = parse_time_ms(text, end);
  if (!start_ms) return std::nullopt;
  const std::string_view behind = strip(text.substr(end));
  const size_t second = std::min(behind.find_first_of("-0123456789", behind.find('>') + 1), behind.size());
  const std::string_view arrow = strip(behind.substr(0, second));
  const auto end_ms = parse_time_ms(behind.substr(second), rest);
  if (!end_ms || behind.find('>') == behind.npos || arrow.find_first_not_of("-=> \xE2\x80\x93\x94") != arrow.npos)
    return std::nullopt;
  if (arrow != "-->" && (text.substr(0, end).find(':') == text.npos || arrow.size() > 8)) return std::nullopt;
  return TimesLine{*start_ms, *end_ms, std::string(behind.substr(second + rest)), std::string(arrow)};
}

bool begins_block(const std::string& line) {
  for (const char* word : {"NOTE", "STYLE", "REGION", "WEBVTT"})
    if (line.starts_with(word)) return true;
  return false;
}

void drop_blank_ends(std::vector<std::string>& lines) {
  while (!lines.empty() && is_blank(lines.back())) lines.pop_back();
  lines.erase(lines.begin(), std::ranges::find_if_not(lines, is_blank));
}

bool is_number(std::string_view line) {
  line = strip(line);
  return !line.empty() && std::ranges::all_of(line, is_digit);
}

// Shares out what stands between two cues' times: the text of the first, other blocks, and the name of the second.
void share_out(std::vector<std::string> between, bool vtt, FileCue* first, FileCue* second, std::vector<std::string>& rest) {
  if (second && !between.empty() && !is_blank(between.back())) {
    const bool alone = between.size() == 1 || is_blank(between[between.size() - 2]);
    if (is_number(between.back()) || (vtt && alone && !begins_block(between.back()))) {
      second->name = strip(between.back());
      between.pop_back();
    }
  }
  auto text_end = first ? between.end() : between.begin();
  if (first && vtt)
    for (auto line = between.begin(); line != between.end(); ++line)
      if (begins_block(*line) && line != between.begin() && is_blank(line[-1])) {
        text_end = line;
        break;
      }
  std::vector<std::string> other(text_end, between.end());
  between.erase(text_end, between.end());
  while (!between.empty() && is_blank(between.back())) between.pop_back();
  drop_blank_ends(other);
  if (first) first->text = std::move(between);
  (second ? second->before : rest) = std::move(other);
}

}  // namespace

CueFile parse_blocks(std::string_view content, CueFormat format) {
  CueFile file;
  file.format = format;
  const bool vtt = format == CueFormat::vtt;
  const std::vector<std::string> lines = lines_of_file(content);
  size_t done = 0;  // lines before this one have their place
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find('>') == std::string::npos) continue;
    const int number = static_cast<int>(i) + 1;
    auto times = times_of(lines[i]);
    if (!times) {
      if (lines[i].find("-->") != std::string::npos) file.bad_lines.push_back({number, "the times can't be read"});
      continue;
    }
    if (times->arrow != "-->") file.bad_lines.push_back({number, "\"" + times->arrow + "\" stands where \"-->\" should"});
    file.cues.push_back({.line = number, .start_ms = times->start_ms, .end_ms = times->end_ms,
                         .settings = std::move(times->settings)});
    FileCue* const before = file.cues.size() > 1 ? &file.cues[file.cues.size() - 2] : nullptr;
    share_out({lines.begin() + static_cast<std::ptrdiff_t>(done), lines.begin() + static_cast<std::ptrdiff_t>(i)}, vtt,
              before, &file.cues.back(), file.after);
    done = i + 1;
  }
  if (!file.cues.empty())
    share_out({lines.begin() + static_cast<std::ptrdiff_t>(done), lines.end()}, vtt, &file.cues.back(), nullptr, file.after);
  return file;
}

std::string write_blocks(const CueFile& file, const MovedTime& moved) {
  std::string out;
  const bool vtt = file.format == CueFormat::vtt;
  const auto clock = [&](int64_t ms) { return file_clock(ms, 2, vtt ? '.' : ','); };
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out.append(line).append("\n");
  };
  int number = 0;
  for (const FileCue& cue : file.cues) {
    add(cue.before);
    if (!cue.before.empty()) out += '\n';
    if (!vtt) out += std::to_string(++number) + '\n';
    if (vtt && !cue.name.empty()) out += cue.name + '\n';
    out += clock(cue.start_ms) + " --> " + clock(cue.end_ms) + cue.settings + '\n';
    for (const std::string& line : cue.text)
      if (!is_blank(line)) out += (moved && vtt ? with_moved_times(line, '<', '>', moved, clock) : line) + '\n';
    out += '\n';
  }
  add(file.after);
  return out;
}

}  // namespace sotto
