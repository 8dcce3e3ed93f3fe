#include "src/subtitles/cue_file.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>

#include "models/error.h"
#include "models/utf8.h"
#include "src/subtitles/cue_formats.h"
#include "src/subtitles/read_text_file.h"

namespace sotto {
namespace {

struct FormatName {
  CueFormat format;
  std::string_view name, extension;
  int64_t step_ms;
};
constexpr FormatName kNames[] = {
    {CueFormat::srt, "SRT", "srt", 1},   {CueFormat::vtt, "WebVTT", "vtt", 1}, {CueFormat::ass, "SubStation Alpha", "ass", 10},
    {CueFormat::ttml, "TTML", "ttml", 1}, {CueFormat::sbv, "SBV", "sbv", 1},    {CueFormat::lrc, "LRC", "lrc", 10},
    {CueFormat::tsv, "TSV", "tsv", 1},   {CueFormat::csv, "CSV", "csv", 1},
};

const FormatName& row_of(CueFormat format) { return *std::ranges::find(kNames, format, &FormatName::format); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view first_line(std::string_view content) {
  content.remove_prefix(std::min(content.find_first_not_of(" \t\n"), content.size()));
  return content.substr(0, content.find('\n'));
}

// Of what programs and people wrote, told by the first line, or the sections that it has.
CueFile parse_by_looks(const std::string& content) {
  const std::string_view first = first_line(content);
  if (content.starts_with("WEBVTT")) return parse_blocks(content, CueFormat::vtt);
  if (first.starts_with("[Script Info]") || content.find("\n[Events]") != content.npos) return parse_ass(content);
  if (first.starts_with('<') &&
      (content.find("<tt") != content.npos || content.find(":tt") != content.npos)) return parse_ttml(content);
  if (first.starts_with("start\tend")) return parse_table(content, CueFormat::tsv);
  if (first.starts_with("start,end")) return parse_table(content, CueFormat::csv);
  for (CueFile (*parse)(std::string_view) : {parse_sbv, parse_lrc})
    if (CueFile file = parse(content); !file.cues.empty()) return file;
  return parse_blocks(content, CueFormat::srt);
}

std::string without_entities(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\u00A0"}, {"&lrm;", "\u200E"}, {"&rlm;", "\u200F"}};
  std::string out;
  while (!text.empty()) {
    const auto entity = std::ranges::find_if(kEntities, [&](const auto& e) { return text.starts_with(e.first); });
    out += entity != std::end(kEntities) ? entity->second : text.substr(0, 1);
    text.remove_prefix(entity != std::end(kEntities) ? entity->first.size() : 1);
  }
  return out;
}

std::string shown_block(std::string_view written, bool vtt) {
  std::string out;
  while (!written.empty()) {
    size_t skip = 0;
    const unsigned char next = written.size() > 1 ? static_cast<unsigned char>(written[1]) : ' ';
    if (written[0] == '<' && (vtt || next == '/' || std::isalpha(next))) skip = written.find('>') + 1;
    if (written.starts_with("{\\")) skip = written.find('}') + 1;
    if (skip == 0) out += written[0];  // a tag without an end is shown
    written.remove_prefix(std::max<size_t>(skip, 1));
  }
  return vtt ? without_entities(out) : out;
}

// "\{" is a brace, and not the beginning of commands.
std::string shown_ass(std::string_view written) {
  std::string out;
  while (!written.empty()) {
    size_t taken = 1;
    if (written.starts_with("\\{") || written.starts_with("\\}")) {
      out += written[1];
      taken = 2;
    } else if (written.starts_with("\\h")) {
      out += "\u00A0";
      taken = 2;
    } else if (written[0] == '{' && written.find('}') != written.npos) {
      taken = written.find('}') + 1;
    } else {
      out += written[0];
    }
    written.remove_prefix(taken);
  }
  return replaced(out, "\u2060", "");
}

}  // namespace

std::vector<std::string> lines_of_file(std::string_view content) {
  std::vector<std::string> lines;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    lines.emplace_back(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at; (at = text.find(from)) != text.npos; text.remove_prefix(at + from.size()))
    out.append(text.substr(0, at)).append(to);
  return out.append(text);
}

std::string file_clock(int64_t ms, int hour_digits, char mark, int digits) {
  ms = std::max<int64_t>(ms, 0);
  if (digits == 2) ms = (ms + 5) / 10 * 10;
  char text[48];
  std::snprintf(text, sizeof text, "%0*lld:%02d:%02d%c%0*d", hour_digits, static_cast<long long>(ms / 3600000),
                static_cast<int>(ms / 60000 % 60), static_cast<int>(ms / 1000 % 60), mark, digits,
                static_cast<int>(ms % 1000 / (digits == 2 ? 10 : 1)));
  return text;
}

std::string with_moved_times(std::string_view text, char open, char close, const MovedTime& moved,
                             const std::function<std::string(int64_t)>& written) {
  std::string out;
  while (!text.empty()) {
    size_t end = 0;
    const auto ms = text[0] == open && text.size() > 1 && is_digit(text[1]) ? parse_time_ms(text.substr(1), end)
                                                                             : std::nullopt;
    const bool whole = ms && end + 1 < text.size() && text[end + 1] == close;
    if (whole) out += open + written(moved(*ms)) + close;
    else out += text[0];
    text.remove_prefix(whole ? end + 2 : 1);
  }
  return out;
}

int column(const CueFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.columns, name);
  return found == file.columns.end() ? -1 : static_cast<int>(found - file.columns.begin());
}

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
  CueFile file = parse_by_looks(content);
  int number = 0;
  for (const std::string& line : lines_of_file(content)) {
    ++number;
    if (line.find('\0') != line.npos) file.bad_lines.push_back({number, "it holds a NUL, at which programs end the text"});
    if (valid_utf8(line) != line) file.bad_lines.push_back({number, "it is not in UTF-8"});
  }
  std::ranges::stable_sort(file.bad_lines, {}, &BadLine::line);
  return file;
}

CueFile read_cue_file(const std::string& path) {
  const std::string name = input_name(path);
  CueFile file;
  try {
    file = parse_cue_file(read_text_file(path));
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what.starts_with("line ") ? name + ", " + what : what);
  }
  if (file.cues.empty())
    throw Error(name + " holds no subtitles; SRT, WebVTT, ASS, TTML, SBV, LRC, TSV and CSV can be read");
  return file;
}

std::string write_cue_file(const CueFile& file, const std::function<int64_t(int64_t)>& moved) {
  switch (file.format) {
    case CueFormat::srt:
    case CueFormat::vtt: return write_blocks(file, moved);
    case CueFormat::ass: return write_ass(file, moved);
    case CueFormat::ttml: return write_ttml(file, moved);
    case CueFormat::sbv: return write_sbv(file);
    case CueFormat::lrc: return write_lrc(file, moved);
    case CueFormat::tsv:
    case CueFormat::csv: return write_table(file);
  }
  CHECK_INVARIANT(false);
}

int erase_cues(CueFile& file, const std::function<bool(const FileCue&)>& erased) {
  std::vector<FileCue> kept;
  std::vector<std::string> lines;
  const int n = static_cast<int>(file.cues.size());
  for (FileCue& cue : file.cues) {
    cue.before.insert(cue.before.begin(), lines.begin(), lines.end());
    lines.clear();
    if (erased(cue)) lines = std::move(cue.before);
    else kept.push_back(std::move(cue));
  }
  file.after.insert(file.after.begin(), lines.begin(), lines.end());
  file.cues = std::move(kept);
  return n - static_cast<int>(file.cues.size());
}

// Rows keep the fields that only this file has, as styles and margins; those of both, such as who speaks, are the cue's.
FileCue in_shape_of(const CueFile& file, const FileCue* like, const CueFile& other, const FileCue& cue) {
  FileCue shaped = cue;
  shaped.is_new = true;
  if (!like) return shaped;
  shaped.element = like->element;
  if (file.columns.empty()) return shaped;
  shaped.fields = like->fields;
  for (const char* name : {"text", "name", "actor", "speaker"}) {
    const int here = column(file, name), there = column(other, name);
    if (here >= 0 && there >= 0) shaped.fields[static_cast<size_t>(here)] = cue.fields[static_cast<size_t>(there)];
  }
  return shaped;
}

std::string shown(std::string_view written, CueFormat format) {
  switch (format) {
    case CueFormat::srt: return shown_block(written, false);
    case CueFormat::vtt: return shown_block(written, true);
    case CueFormat::ass: return shown_ass(written);
    case CueFormat::lrc: {
      const auto mark = [](int64_t) { return std::string(1, '\0'); };
      const std::string marked = with_moved_times(written, '<', '>', [](int64_t ms) { return ms; }, mark);
      return replaced(marked, std::string_view("<\0>", 3), "");
    }
    default: return std::string(written);
  }
}

int line_of_text(const CueFile& file, const FileCue& cue, size_t n) {
  const bool below = file.format == CueFormat::srt || file.format == CueFormat::vtt || file.format == CueFormat::sbv;
  return below ? cue.line + 1 + static_cast<int>(n) : cue.line;
}

std::string_view name_of(CueFormat format) { return row_of(format).name; }
std::string_view extension_of(CueFormat format) { return row_of(format).extension; }
int64_t step_ms(CueFormat format) { return row_of(format).step_ms; }

}  // namespace sotto
