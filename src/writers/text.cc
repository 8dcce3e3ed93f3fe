#include "src/writers/text.h"

#include <cstdio>

#include "models/utf8.h"

namespace sotto {
namespace {

bool ends_line(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

bool is_no_character(char32_t code) { return (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE; }

// Lines, blank ones too, as they are but for what lines_of takes out.
std::vector<std::string> clean_lines(std::string_view text) {
  std::vector<std::string> lines(1);
  const std::string valid = valid_utf8(text);
  for (std::string_view rest = valid; !rest.empty();) {
    const Character character = first_character(rest);
    if (ends_line(character.code))
      lines.emplace_back();
    else if (is_control(character.code))
      lines.back() += ' ';
    else if (is_no_character(character.code))
      lines.back() += "\uFFFD";
    else
      lines.back() += rest.substr(0, character.length);
    rest.remove_prefix(character.length);
  }
  return lines;
}

bool is_blank(std::string_view text) { return strip(text).empty(); }

// Takes white space from both ends of a line.
void strip_line(std::vector<Run>& line) {
  while (!line.empty() && is_blank(line.back().text)) line.pop_back();
  while (!line.empty() && is_blank(line.front().text)) line.erase(line.begin());
  if (line.empty()) return;
  std::string &first = line.front().text, &last = line.back().text;
  last.erase(static_cast<size_t>(strip(last).data() + strip(last).size() - last.data()));
  first.erase(0, static_cast<size_t>(strip(first).data() - first.data()));
}

}  // namespace

std::string clock(int64_t ms, Hours hours, char decimal_mark) {
  const int64_t h = ms / 3600000;
  char text[40];
  const int length = std::snprintf(text, sizeof text, "%02d:%02d%c%03d", static_cast<int>(ms / 60000 % 60),
                                   static_cast<int>(ms / 1000 % 60), decimal_mark, static_cast<int>(ms % 1000));
  return (hours == Hours::always || h > 0 ? two_digits(h) + ":" : "") + std::string(text, static_cast<size_t>(length));
}

std::string in_seconds(int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ms / 1000), static_cast<int>(ms % 1000));
  return text;
}

std::string two_digits(int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%02lld", static_cast<long long>(value));
  return text;
}

std::string lines_of(std::string_view text, std::string_view joint) {
  std::string joined;
  for (const std::string& line : clean_lines(text))
    if (const std::string_view stripped = strip(line); !stripped.empty())
      joined.append(joined.empty() ? "" : joint).append(stripped);
  return joined;
}

std::string spoken_line(const Segment& segment) {
  const std::string text = lines_of(segment.text, " ");
  return segment.speaker.empty() || text.empty() ? text : lines_of(segment.speaker, " ") + ": " + text;
}

std::string escaped(std::string text, const Escapes& escapes) {
  for (const auto& [from, to] : escapes)
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  return text;
}

std::string xml_escaped(std::string text) {
  return escaped(std::move(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::vector<std::vector<Run>> runs_of(const Cue& cue) {
  std::vector<std::vector<Run>> lines;
  int64_t last_ms = cue.start_ms;
  for (const CueLine& cue_line : cue.lines) {
    std::vector<Run> line;
    const auto end_line = [&] {
      strip_line(line);
      if (!line.empty()) lines.push_back(std::move(line));
      line.clear();
    };
    for (const CueWord& word : cue_line) {
      Run run;
      run.start_ms = last_ms = std::clamp(word.start_ms, last_ms, std::max(last_ms, cue.end_ms));
      run.end_ms = std::clamp(word.end_ms, run.start_ms, std::max(run.start_ms, cue.end_ms));
      run.marked = word.marked;
      const std::vector<std::string> parts = clean_lines(word.text);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) end_line();
        run.text = parts[i];
        if (!run.text.empty()) line.push_back(run);
      }
    }
    end_line();
  }
  if (!lines.empty() && !cue.speaker.empty())
    lines[0].insert(lines[0].begin(), Run{lines_of(cue.speaker, " ") + ": ", cue.start_ms, cue.start_ms, true});
  return lines;
}

std::vector<std::string> speakers_of(std::span<const Cue> cues) {
  std::vector<std::string> speakers;
  for (const Cue& cue : cues)
    if (!cue.speaker.empty() && std::ranges::find(speakers, cue.speaker) == speakers.end()) speakers.push_back(cue.speaker);
  return speakers;
}

size_t number_of_speaker(const std::vector<std::string>& speakers, const std::string& speaker) {
  return static_cast<size_t>(std::ranges::find(speakers, speaker) - speakers.begin());
}

}  // namespace sotto
