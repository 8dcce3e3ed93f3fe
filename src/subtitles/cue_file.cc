#include "src/subtitles/cue_file.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "models/error.h"
#include "models/utf8.h"
#include "src/subtitles/read_text_file.h"

namespace sotto {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> lines_of(std::string_view content) {
  std::vector<std::string> lines;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    lines.emplace_back(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

bool is_blank(const std::string& line) { return strip(line).empty(); }

struct TimesLine {
  int64_t start_ms, end_ms;
  std::string settings;
};

std::optional<TimesLine> times_of(std::string_view line) {
  const size_t arrow = line.find("-->");
  if (arrow == line.npos) return std::nullopt;
  size_t end = 0, rest = 0;
  const auto start_ms = parse_time_ms(strip(line.substr(0, arrow)), end);
  const std::string_view second = strip(line.substr(arrow + 3));
  const auto end_ms = parse_time_ms(second, rest);
  if (!start_ms || !end_ms || end != strip(line.substr(0, arrow)).size()) return std::nullopt;
  return TimesLine{*start_ms, *end_ms, std::string(second.substr(rest))};
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

std::string clock(int64_t ms, char mark) {
  ms = std::max<int64_t>(ms, 0);
  char text[48];
  std::snprintf(text, sizeof text, "%02lld:%02d:%02d%c%03d", static_cast<long long>(ms / 3600000),
                static_cast<int>(ms / 60000 % 60), static_cast<int>(ms / 1000 % 60), mark, static_cast<int>(ms % 1000));
  return text;
}

// "<00:01.500>" within a WebVTT text.
std::string with_moved_times(std::string_view line, const std::function<int64_t(int64_t)>& moved) {
  std::string out;
  while (!line.empty()) {
    size_t end = 0;
    const auto ms = line[0] == '<' && line.size() > 1 && is_digit(line[1]) ? parse_time_ms(line.substr(1), end)
                                                                            : std::nullopt;
    if (ms && end + 1 < line.size() && line[end + 1] == '>') {
      out += '<' + clock(moved(*ms), '.') + '>';
      line.remove_prefix(end + 2);
    } else {
      out += line[0];
      line.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::optional<int64_t> parse_time_ms(std::string_view text, size_t& end) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const bool negative = at == 1;
  int64_t whole = 0, part = 0;
  int n_parts = 0;
  const auto skip_spaces = [&] { while (at < text.size() && text[at] == ' ') ++at; };
  for (;; ++at) {
    const size_t begin = at;
    part = 0;
    for (; at < text.size() && is_digit(text[at]) && at - begin < 12; ++at) part = part * 10 + (text[at] - '0');
    if (at == begin || ++n_parts > 3) return std::nullopt;
    whole = whole * 60 + part;
    const size_t here = at;
    skip_spaces();  // "00: 01" is found in files made by hand
    if (at == text.size() || text[at] != ':') {
      at = here;
      break;
    }
    if (at + 1 < text.size() && text[at + 1] == ' ') ++at;
  }
  int64_t ms = 0;
  if (at + 1 < text.size() && (text[at] == ',' || text[at] == '.') && is_digit(text[at + 1])) {
    ++at;
    for (int64_t unit = 100; at < text.size() && is_digit(text[at]); ++at, unit /= 10) ms += (text[at] - '0') * unit;
  }
  end = at;
  return (negative ? -1 : 1) * (whole * 1000 + ms);
}

int64_t time_ms(std::string_view text, std::string_view what_for) {
  size_t end = 0;
  const auto ms = parse_time_ms(strip(text), end);
  if (!ms || end != strip(text).size())
    throw Error("'" + std::string(text) + "' is no time for " + std::string(what_for) +
                "; times are written as 1:02:03.5, 02:03.5 or 3.5");
  return *ms;
}

CueFile parse_cue_file(const std::string& content) {
  CueFile file;
  const std::vector<std::string> lines = lines_of(content);
  file.vtt = content.starts_with("WEBVTT");
  size_t done = 0;  // lines before this one have their place
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("-->") == std::string::npos) continue;
    auto times = times_of(lines[i]);
    if (!times) {
      file.unreadable_lines.push_back(static_cast<int>(i) + 1);
      continue;
    }
    file.cues.push_back({.line = static_cast<int>(i) + 1, .start_ms = times->start_ms, .end_ms = times->end_ms,
                         .settings = std::move(times->settings)});
    FileCue* const before = file.cues.size() > 1 ? &file.cues[file.cues.size() - 2] : nullptr;
    share_out({lines.begin() + static_cast<std::ptrdiff_t>(done), lines.begin() + static_cast<std::ptrdiff_t>(i)}, file.vtt,
              before, &file.cues.back(), file.after);
    done = i + 1;
  }
  if (!file.cues.empty())
    share_out({lines.begin() + static_cast<std::ptrdiff_t>(done), lines.end()}, file.vtt, &file.cues.back(), nullptr,
              file.after);
  return file;
}

CueFile read_cue_file(const std::string& path) {
  CueFile file = parse_cue_file(read_text_file(path));
  if (file.cues.empty()) throw Error(path + " holds no subtitles in SRT or WebVTT");
  return file;
}

std::string write_cue_file(const CueFile& file, const std::function<int64_t(int64_t)>& moved) {
  std::string out;
  const char mark = file.vtt ? '.' : ',';
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out.append(line).append("\n");
  };
  int number = 0;
  for (const FileCue& cue : file.cues) {
    add(cue.before);
    if (!cue.before.empty()) out += '\n';
    if (!file.vtt) out += std::to_string(++number) + '\n';
    if (file.vtt && !cue.name.empty()) out += cue.name + '\n';
    out += clock(cue.start_ms, mark) + " --> " + clock(cue.end_ms, mark) + cue.settings + '\n';
    for (const std::string& line : cue.text)
      if (!is_blank(line)) out += (moved && file.vtt ? with_moved_times(line, moved) : line) + '\n';
    out += '\n';
  }
  add(file.after);
  return out;
}

std::string shown(std::string_view written, bool vtt) {
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\u00A0"}, {"&lrm;", "\u200E"}, {"&rlm;", "\u200F"}};
  std::string out;
  while (!written.empty()) {
    size_t skip = 0;
    const unsigned char next = written.size() > 1 ? static_cast<unsigned char>(written[1]) : ' ';
    if (written[0] == '<' && (vtt || next == '/' || std::isalpha(next))) skip = written.find('>') + 1;
    if (written.starts_with("{\\")) skip = written.find('}') + 1;
    if (skip > 0) {  // a tag without an end is shown
      written.remove_prefix(skip);
      continue;
    }
    const auto entity = std::ranges::find_if(kEntities, [&](const auto& e) { return vtt && written.starts_with(e.first); });
    if (entity != std::end(kEntities)) {
      out += entity->second;
      written.remove_prefix(entity->first.size());
      continue;
    }
    out += written[0];
    written.remove_prefix(1);
  }
  return out;
}

}  // namespace sotto
