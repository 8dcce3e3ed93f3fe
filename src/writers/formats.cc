// Which formats there are, and which writer each one has; and lines for a terminal.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "models/error.h"
#include "models/utf8.h"
#include "src/coverage.h"
#include "src/writers.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

enum class Shows { segments, cues, words };

struct FormatRow {
  Format format;
  std::string_view extension;
  Shows shows;
};
constexpr FormatRow kFormats[] = {
    {Format::txt, "txt", Shows::segments},   {Format::srt, "srt", Shows::cues},
    {Format::vtt, "vtt", Shows::cues},       {Format::ass, "ass", Shows::cues},
    {Format::ttml, "ttml", Shows::cues},     {Format::sbv, "sbv", Shows::cues},
    {Format::lrc, "lrc", Shows::cues},       {Format::tsv, "tsv", Shows::segments},
    {Format::csv, "csv", Shows::segments},   {Format::json, "json", Shows::segments},
    {Format::jsonl, "jsonl", Shows::segments}, {Format::textgrid, "TextGrid", Shows::words},
    {Format::ctm, "ctm", Shows::words},      {Format::stm, "stm", Shows::segments},
    {Format::rttm, "rttm", Shows::segments}, {Format::otr, "otr", Shows::segments},
    {Format::aud, "aud", Shows::segments},
};

const FormatRow& row_of(Format format) { return *std::ranges::find(kFormats, format, &FormatRow::format); }

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

bool has_cues(Format format) { return row_of(format).shows == Shows::cues; }
bool has_words(Format format) { return row_of(format).shows == Shows::words; }
std::string_view extension(Format format) { return row_of(format).extension; }

std::string format_names() {
  std::string names;
  for (const FormatRow& row : kFormats) names.append(names.empty() ? "" : ", ").append(row.extension);
  return names;
}

std::vector<Format> parse_formats(std::string_view list) {
  std::vector<Format> formats;
  const auto add = [&](Format format) {
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  };
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view name = strip(list.substr(begin, end - begin));
    begin = end + 1;
    if (name == "all") {
      for (Format format : {Format::txt, Format::vtt, Format::srt, Format::tsv, Format::json}) add(format);
      continue;
    }
    const auto known =
        std::ranges::find_if(kFormats, [&](const FormatRow& row) { return same_letters(row.extension, name); });
    if (known == std::end(kFormats))
      throw Error("there is no output format \"" + std::string(name) + "\": choose from " + format_names() + " and all");
    add(known->format);
  }
  return formats;
}

std::string render(const Transcript& transcript, std::span<const Cue> cues, Format format, bool karaoke) {
  switch (format) {
    case Format::txt: return render_txt(transcript);
    case Format::srt: return render_srt(cues);
    case Format::vtt: return render_vtt(cues, karaoke);
    case Format::ass: return render_ass(cues, karaoke);
    case Format::ttml: return render_ttml(cues, transcript.language, karaoke);
    case Format::sbv: return render_sbv(cues);
    case Format::lrc: return render_lrc(cues, karaoke);
    case Format::tsv: return render_tsv(transcript);
    case Format::csv: return render_csv(transcript);
    case Format::json: return render_json(transcript);
    case Format::jsonl: return render_jsonl(transcript);
    case Format::textgrid: return render_textgrid(transcript);
    case Format::ctm: return render_ctm(transcript);
    case Format::stm: return render_stm(transcript);
    case Format::rttm: return render_rttm(transcript);
    case Format::otr: return render_otr(transcript);
    case Format::aud: return render_aud(transcript);
  }
  CHECK_INVARIANT(false);
}

std::string coverage_lines(const Coverage& coverage) {
  std::string out;
  for (const Coverage::Stretch& stretch : coverage.stretches) {
    const Span span(stretch.start_s, stretch.end_s);
    out += '[' + clock(span.start_ms, Hours::if_any, '.') + " --> " + clock(span.end_ms, Hours::if_any, '.') + "] " +
           std::string(name(stretch.fate)) + '\n';
  }
  return out;
}

std::string rough_time(double seconds) {
  const long whole = std::lround(std::clamp(seconds, 0.0, 1e9));
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

std::string terminal_line(const Segment& segment) {
  const std::string text = spoken_line(segment);
  if (text.empty()) return "";
  const Span span = span_of(segment);
  return '[' + clock(span.start_ms, Hours::if_any, '.') + " --> " + clock(span.end_ms, Hours::if_any, '.') + "] " +
         text;
}

}  // namespace sotto
