// Formats with a row of fields for each cue: SubStation Alpha, TSV and CSV.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <span>

#include "models/utf8.h"
#include "src/subtitles/cue_formats.h"

namespace sotto {
namespace {

constexpr const char* kAssColumns = "layer, start, end, style, name, marginl, marginr, marginv, effect, text";
constexpr const char* kBadTimes = "the times can't be read";

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// At most n fields; the last takes what is left.
std::vector<std::string> fields_of(std::string_view row, char separator, size_t n) {
  std::vector<std::string> fields;
  while (fields.size() + 1 < n && row.find(separator) != row.npos) {
    fields.emplace_back(row.substr(0, row.find(separator)));
    row.remove_prefix(row.find(separator) + 1);
  }
  fields.emplace_back(row);
  return fields;
}

std::vector<std::string> ass_columns(std::string_view list) {
  std::vector<std::string> columns = fields_of(list, ',', 100);
  for (std::string& name : columns) name = small(strip(name));
  return columns;
}

// Shapes are drawn by texts with "{\p1}".
bool is_drawing(std::string_view text) {
  for (size_t at = 0; (at = text.find("\\p", at)) != text.npos; at += 2)
    if (at + 2 < text.size() && text[at + 2] >= '1' && text[at + 2] <= '9') return true;
  return false;
}

std::vector<std::string> ass_lines(std::string_view text) {
  std::vector<std::string> lines = lines_of_file(replaced(replaced(text, "\\N", "\n"), "\\n", "\n"));
  while (!lines.empty() && strip(lines.back()).empty()) lines.pop_back();
  return lines;
}

// The lengths of a text's syllables, in hundredths of a second behind "\k", "\kf" or "\ko", moved one after the other.
std::string with_moved_syllables(std::string_view text, int64_t start_ms, const MovedTime& moved) {
  std::string out;
  int64_t at_ms = start_ms;
  while (!text.empty()) {
    const size_t tag = std::min(text.find("\\k"), text.find("\\K"));
    if (tag == text.npos) return out.append(text);
    size_t digits = tag + 2;
    if (digits < text.size() && (text[digits] == 'f' || text[digits] == 'o')) ++digits;
    size_t end = digits;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) && end - digits < 9) ++end;
    out += text.substr(0, digits);
    if (end > digits) {
      const int64_t next_ms = at_ms + 10 * std::atoll(std::string(text.substr(digits, end - digits)).c_str());
      out += std::to_string((moved(next_ms) + 5) / 10 - (moved(at_ms) + 5) / 10);
      at_ms = next_ms;
    }
    text.remove_prefix(end);
  }
  return out;
}

// RFC 4180: the next row's fields; takes it off the text.
std::vector<std::string> csv_row(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  while (!text.empty()) {
    const char c = text[0];
    const bool two_quotes = quoted && text.starts_with("\"\"");
    text.remove_prefix(two_quotes ? 2 : 1);
    if (two_quotes) fields.back() += '"';
    else if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.emplace_back();
    else if (c == '\n' && !quoted) break;
    else if (c == '\r' && !quoted && text.starts_with('\n')) continue;
    else fields.back() += c;
  }
  return fields;
}

std::optional<int64_t> milliseconds(std::string_view field) {
  field = strip(field);
  if (field.empty() || field.size() > 15 || !std::ranges::all_of(field, [](unsigned char c) { return std::isdigit(c); }))
    return std::nullopt;
  return std::atoll(std::string(field).c_str());
}

std::string csv_field(const std::string& field) {
  return field.find_first_of(",\"\n") == field.npos ? field : '"' + replaced(field, "\"", "\"\"") + '"';
}

}  // namespace

CueFile parse_ass(std::string_view content) {
  CueFile file;
  file.format = CueFormat::ass;
  file.columns = ass_columns(kAssColumns);
  std::vector<std::string> before;
  bool events = false;
  int number = 0;
  for (const std::string& line : lines_of_file(content)) {
    ++number;
    if (line.starts_with('[')) events = small(strip(line)) == "[events]";
    if (events && line.starts_with("Format:")) file.columns = ass_columns(std::string_view(line).substr(7));
    const int start = column(file, "start"), end = column(file, "end"), text = column(file, "text");
    if (events && line.starts_with("Dialogue:") && start >= 0 && end >= 0 && text >= 0) {
      std::vector<std::string> fields = fields_of(std::string_view(line).substr(line.starts_with("Dialogue: ") ? 10 : 9),
                                                  ',', file.columns.size());
      size_t start_end = 0, end_end = 0;
      std::optional<int64_t> start_ms, end_ms;
      if (fields.size() == file.columns.size()) {
        start_ms = parse_time_ms(strip(fields[start]), start_end);
        end_ms = parse_time_ms(strip(fields[end]), end_end);
      }
      if (!start_ms || !end_ms) {
        file.bad_lines.push_back({number, fields.size() == file.columns.size() ? kBadTimes : "it has too few fields"});
      } else if (!is_drawing(fields[text])) {
        file.cues.push_back({.before = std::move(before), .line = number, .start_ms = *start_ms, .end_ms = *end_ms,
                             .text = ass_lines(fields[text]), .fields = std::move(fields)});
        before.clear();
        continue;
      }
    }
    before.push_back(line);
  }
  file.after = std::move(before);
  return file;
}

std::string write_ass(const CueFile& file, const MovedTime& moved) {
  std::string out;
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out.append(line).append("\n");
  };
  const int start = column(file, "start"), end = column(file, "end"), text = column(file, "text");
  for (const FileCue& cue : file.cues) {
    add(cue.before);
    std::vector<std::string> fields = cue.fields;
    size_t start_end = 0;
    if (const auto was_ms = parse_time_ms(strip(fields[start]), start_end); was_ms && moved)
      fields[text] = with_moved_syllables(fields[text], *was_ms, moved);
    fields[start] = file_clock(cue.start_ms, 1, '.', 2);
    fields[end] = file_clock(cue.end_ms, 1, '.', 2);
    out += "Dialogue: ";
    for (size_t i = 0; i < fields.size(); ++i) out.append(i > 0 ? "," : "").append(fields[i]);
    out += '\n';
  }
  add(file.after);
  return out;
}

CueFile parse_table(std::string_view content, CueFormat format) {
  CueFile file;
  file.format = format;
  int number = 1;
  const auto next_row = [&] {
    if (format == CueFormat::csv) return csv_row(content);
    const size_t end = std::min(content.find('\n'), content.size());
    std::vector<std::string> fields = fields_of(content.substr(0, end), '\t', file.columns.empty() ? 100 : file.columns.size());
    content.remove_prefix(std::min(end + 1, content.size()));
    return fields;
  };
  const size_t whole = content.size();
  const std::string_view all = content;
  file.columns = next_row();
  const int start = column(file, "start"), end = column(file, "end"), text = column(file, "text");
  if (start < 0 || end < 0 || text < 0) return file;
  while (!content.empty()) {
    number = 1 + static_cast<int>(std::ranges::count(all.substr(0, whole - content.size()), '\n'));
    std::vector<std::string> fields = next_row();
    if (fields.size() == 1 && strip(fields[0]).empty()) continue;
    const bool full = fields.size() == file.columns.size();
    const auto start_ms = full ? milliseconds(fields[start]) : std::nullopt;
    const auto end_ms = full ? milliseconds(fields[end]) : std::nullopt;
    if (!start_ms || !end_ms) {
      file.bad_lines.push_back({number, full ? "the times can't be read as whole milliseconds"
                                             : "it has other fields than the first line"});
      continue;
    }
    file.cues.push_back({.line = number, .start_ms = *start_ms, .end_ms = *end_ms, .text = lines_of_file(fields[text]),
                         .fields = std::move(fields)});
  }
  return file;
}

std::string write_table(const CueFile& file) {
  const bool csv = file.format == CueFormat::csv;
  const int start = column(file, "start"), end = column(file, "end");
  std::string out;
  const auto add = [&](const std::vector<std::string>& fields) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += csv ? ',' : '\t';
      out += csv ? csv_field(fields[i]) : fields[i];
    }
    out += csv ? "\r\n" : "\n";
  };
  add(file.columns);
  for (const FileCue& cue : file.cues) {
    std::vector<std::string> fields = cue.fields;
    fields[start] = std::to_string(cue.start_ms);
    fields[end] = std::to_string(cue.end_ms);
    add(fields);
  }
  return out;
}

}  // namespace sotto
