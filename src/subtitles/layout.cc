#include "src/subtitles/layout.h"

#include <algorithm>

#include "models/utf8.h"
#include "src/subtitles/optimise.h"
#include "src/subtitles/whisper_lines.h"

namespace sotto {
namespace {

CueLine line_of(std::span<const Unit> units) {
  CueLine line;
  for (const Unit& unit : units) {
    CueWord& word = line.emplace_back(unit.word);
    if (unit.space && line.size() > 1) word.text.insert(word.text.begin(), ' ');
  }
  return line;
}

// Columns that the name of a speaker takes before a cue's text (writers.h).
int label_columns(const Transcript& transcript) {
  int columns = 0;
  for (const Segment& segment : transcript.segments)
    if (!segment.speaker.empty()) columns = std::max(columns, size_of(segment.speaker).columns + 2);
  return columns;
}

}  // namespace

std::vector<Cue> lay_out(const Transcript& transcript, const SubtitleOptions& options, std::span<const int64_t> cuts_ms) {
  if (is_whisper(options)) return whisper_cues(transcript, options);
  SubtitleStyle style = resolve(options, transcript.language);
  style.columns = std::max(style.columns / 2, style.columns - label_columns(transcript));
  std::vector<Unit> units = units_of(transcript, style.columns);
  const int64_t end_ms = transcript.duration_s > 0 ? static_cast<int64_t>(transcript.duration_s * 1000) : INT64_MAX;
  CueCosts costs(units, style, cuts_ms, end_ms);

  std::vector<Cue> cues;
  int begin = 0;
  for (const int end : best_cue_ends(costs, static_cast<int>(units.size()))) {
    costs.begin_at(begin);
    Cue& cue = cues.emplace_back();
    cue.start_ms = costs.times().start_ms(begin);
    cue.end_ms = costs.times().end_ms(begin, end);
    cue.speaker = transcript.segments[units[begin].segment].speaker;
    int first = begin;
    for (const int line_end : costs.line_ends(end)) {
      cue.lines.push_back(line_of(std::span(units).subspan(first, line_end - first)));
      first = line_end;
    }
    begin = end;
  }
  part_cues(cues, style, end_ms);
  lend_time(cues, style, cuts_ms);
  return cues;
}

std::string text_of(const CueLine& line) {
  std::string text;
  for (const CueWord& word : line) text += word.text;
  return text;
}

std::string text_of(const Cue& cue) {
  std::string text;
  for (const CueLine& line : cue.lines) text.append(text.empty() ? "" : "\n").append(text_of(line));
  return text;
}

}  // namespace sotto
