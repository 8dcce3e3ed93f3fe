#include "src/writers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/error.h"
#include "models/utf8.h"
#include "src/coverage.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kNames = {"txt", "srt", "vtt", "tsv", "json", "jsonl"};  // by Format

// A stretch of time in whole milliseconds, as every format shows it: never negative, never ending before it starts.
struct Span {
  int64_t start_ms, end_ms;

  Span(double start_s, double end_s) : start_ms(to_ms(start_s)), end_ms(std::max(start_ms, to_ms(end_s))) {}

  static int64_t to_ms(double seconds) { return seconds > 0 ? std::llrint(seconds * 1000) : 0; }
};

enum class Hours { always, if_any };

std::string clock(int64_t ms, Hours hours, char decimal_mark) {
  std::string text(40, '\0');
  const int64_t h = ms / 3600000, m = ms / 60000 % 60, s = ms / 1000 % 60;
  int length = 0;
  if (hours == Hours::always || h > 0) {
    length = std::snprintf(text.data(), text.size(), "%02lld:", static_cast<long long>(h));
  }
  length += std::snprintf(text.data() + length, text.size() - length, "%02d:%02d%c%03d", static_cast<int>(m),
                          static_cast<int>(s), decimal_mark, static_cast<int>(ms % 1000));
  text.erase(length);
  return text;
}

bool ends_line(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

// The lines of a text that aren't blank, stripped, joined. Other control characters become spaces: a NUL or an escape
// sequence has no business in a subtitle or on a terminal, a tab would be a column in TSV.
std::string lines_of(std::string_view text, std::string_view joint) {
  std::string joined, line;
  const auto end_line = [&] {
    const std::string_view stripped = strip(line);
    if (!stripped.empty()) joined.append(joined.empty() ? "" : joint).append(stripped);
    line.clear();
  };
  const std::string valid = valid_utf8(text);
  for (std::string_view rest = valid; !rest.empty();) {
    const Character character = first_character(rest);
    if (ends_line(character.code)) {
      end_line();
    } else if (character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0)) {
      line += ' ';
    } else {
      line += rest.substr(0, character.length);
    }
    rest.remove_prefix(character.length);
  }
  end_line();
  return joined;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A segment's text on one line, and before it who speaks, where that is known.
std::string spoken_line(const Segment& segment) {
  const std::string text = lines_of(segment.text, " ");
  return segment.speaker.empty() || text.empty() ? text : lines_of(segment.speaker, " ") + ": " + text;
}

// What stands for the marks of a word until the text is escaped: characters that no text has.
constexpr std::string_view kMarkBegin = "\uFDD0", kMarkEnd = "\uFDD1";

// The text of a cue, none of its lines blank. escapes: pairs of what is written in place of what.
std::string cue_text(const Cue& cue, std::initializer_list<std::pair<std::string_view, std::string_view>> escapes) {
  std::string text = cue.speaker.empty() ? "" : lines_of(cue.speaker, " ") + ": ";
  for (const CueLine& line : cue.lines) {
    for (const CueWord& word : line) {
      const std::size_t begin = std::min(word.text.find_first_not_of(' '), word.text.size());
      text.append(word.text, 0, begin).append(word.marked ? kMarkBegin : "");
      text.append(word.text, begin).append(word.marked ? kMarkEnd : "");
    }
    text += '\n';
  }
  text = lines_of(text, "\n");
  // "-->" would be read as a line of times. A longer arrow holds another one once shortened.
  for (std::size_t at = text.find("-->"); at != std::string::npos; at = text.find("-->")) text.erase(at, 1);
  for (const auto& [from, to] : escapes) replace_all(text, from, to);
  replace_all(text, kMarkBegin, "<u>");
  replace_all(text, kMarkEnd, "</u>");
  return text;
}

std::string render_txt(const Transcript& transcript) {
  std::string out;
  for (const Segment& segment : transcript.segments) {
    const std::string text = spoken_line(segment);
    if (!text.empty()) out += text + '\n';
  }
  return out;
}

std::string render_srt(std::span<const Cue> cues) {
  std::string out;
  int index = 0;
  for (const Cue& cue : cues) {
    const std::string text = cue_text(cue, {});
    if (text.empty()) continue;
    out += std::to_string(++index) + '\n' + clock(cue.start_ms, Hours::always, ',') + " --> " +
           clock(cue.end_ms, Hours::always, ',') + '\n' + text + "\n\n";
  }
  return out;
}

std::string render_vtt(std::span<const Cue> cues) {
  std::string out = "WEBVTT\n\n";
  for (const Cue& cue : cues) {
    // ">" is allowed bare, but libavformat's reader drops it
    const std::string text = cue_text(cue, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
    if (text.empty()) continue;
    out += clock(cue.start_ms, Hours::if_any, '.') + " --> " + clock(cue.end_ms, Hours::if_any, '.') + '\n' + text +
           "\n\n";
  }
  return out;
}

std::string render_tsv(const Transcript& transcript) {
  std::string out = "start\tend\ttext\n";
  for (const Segment& segment : transcript.segments) {
    const std::string text = lines_of(segment.text, " ");
    if (text.empty()) continue;
    const Span span(segment.start_s, segment.end_s);
    out += std::to_string(span.start_ms) + '\t' + std::to_string(span.end_ms) + '\t' + text + '\n';
  }
  return out;
}

double seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

// Six decimals: what a float of about one holds. Not a number becomes null in JSON.
double six_decimals(double value) { return std::round(value * 1e6) / 1e6; }

Json json_of(const Segment& segment, bool with_words) {
  const Span span(segment.start_s, segment.end_s);
  Json json = {{"id", segment.id},
               {"seek", segment.seek},
               {"start", seconds(span.start_ms)},
               {"end", seconds(span.end_ms)},
               {"text", valid_utf8(segment.text)},
               {"tokens", segment.tokens},
               {"temperature", six_decimals(segment.temperature)},
               {"avg_logprob", six_decimals(segment.avg_log_prob)},
               {"compression_ratio", six_decimals(segment.compression_ratio)},
               {"no_speech_prob", six_decimals(segment.no_speech_prob)}};
  if (!segment.speaker.empty()) json["speaker"] = valid_utf8(segment.speaker);
  if (!segment.language.empty()) json["language"] = segment.language;
  if (!with_words) return json;
  Json& words = json["words"] = Json::array();
  for (const Word& word : segment.words) {
    const Span word_span(word.start_s, word.end_s);
    words.push_back({{"word", valid_utf8(word.text)},
                     {"start", seconds(word_span.start_ms)},
                     {"end", seconds(word_span.end_ms)},
                     {"probability", six_decimals(word.probability)}});
  }
  return json;
}

Json json_of(const Transcript& transcript) {
  const bool with_words = std::any_of(transcript.segments.begin(), transcript.segments.end(),
                                      [](const Segment& segment) { return !segment.words.empty(); });
  std::string text;  // with its leading space, as the reference has it
  Json segments = Json::array();
  for (const Segment& segment : transcript.segments) {
    text += segment.text;
    segments.push_back(json_of(segment, with_words));
  }
  Json coverage = Json::array();
  for (const Coverage::Stretch& stretch : transcript.coverage.stretches) {
    const Span span(stretch.start_s, stretch.end_s);
    coverage.push_back(
        {{"start", seconds(span.start_ms)}, {"end", seconds(span.end_ms)}, {"kind", name(stretch.fate)}});
  }
  Json json = {{"text", valid_utf8(text)},
               {"segments", std::move(segments)},
               {"language", valid_utf8(transcript.language)},
               {"audio", valid_utf8(transcript.audio)},
               {"model", valid_utf8(transcript.model)},
               {"device", valid_utf8(transcript.device)},
               {"duration", seconds(Span::to_ms(transcript.duration_s))}};
  json["coverage"] = std::move(coverage);
  if (transcript.language_probability) json["language_probability"] = six_decimals(*transcript.language_probability);
  return json;
}

// One line for each key and each segment, so that people can read it and line tools can compare it.
std::string render_json(const Transcript& transcript) {
  std::string out = "{";
  const Json object = json_of(transcript);
  for (const auto& [key, value] : object.items()) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += "  " + Json(key).dump() + ": ";
    if ((key != "segments" && key != "coverage") || value.empty()) {
      out += value.dump();
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "[\n    " : ",\n    ") + value[i].dump();
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace

bool has_cues(Format format) { return format == Format::srt || format == Format::vtt; }

std::string_view extension(Format format) { return kNames[static_cast<std::size_t>(format)]; }

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
    const auto known = std::find(kNames.begin(), kNames.end(), name);
    if (known == kNames.end()) {
      throw Error("there is no output format \"" + std::string(name) +
                  "\": choose from txt, srt, vtt, tsv, json, jsonl and all");
    }
    add(static_cast<Format>(known - kNames.begin()));
  }
  return formats;
}

std::string render(const Transcript& transcript, std::span<const Cue> cues, Format format) {
  switch (format) {
    case Format::txt: return render_txt(transcript);
    case Format::srt: return render_srt(cues);
    case Format::vtt: return render_vtt(cues);
    case Format::tsv: return render_tsv(transcript);
    case Format::json: return render_json(transcript);
    case Format::jsonl: return json_of(transcript).dump() + '\n';
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
  const Span span(segment.start_s, segment.end_s);
  return '[' + clock(span.start_ms, Hours::if_any, '.') + " --> " + clock(span.end_ms, Hours::if_any, '.') + "] " +
         text;
}

}  // namespace sotto
