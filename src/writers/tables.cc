// Segments as rows: of plain text, of tables, of Audacity's labels, and of oTranscribe's page.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/utf8.h"
#include "src/writers.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

// Calls row(segment, text on one line, times) for each segment that has text.
template <typename Row>
void each_row(const Transcript& transcript, Row row) {
  for (const Segment& segment : transcript.segments)
    if (const std::string text = lines_of(segment.text, " "); !text.empty()) row(segment, text, span_of(segment));
}

std::string quoted(const std::string& cell) {
  return cell.find_first_of(",\"\r\n") == cell.npos ? cell : '"' + escaped(cell, {{"\"", "\"\""}}) + '"';
}

}  // namespace

std::string render_txt(const Transcript& transcript) {
  std::string out;
  each_row(transcript, [&](const Segment& segment, const std::string&, const Span&) { out += spoken_line(segment) + '\n'; });
  return out;
}

std::string render_tsv(const Transcript& transcript) {
  std::string out = "start\tend\ttext\n";
  each_row(transcript, [&](const Segment&, const std::string& text, const Span& span) {
    out += std::to_string(span.start_ms) + '\t' + std::to_string(span.end_ms) + '\t' + text + '\n';
  });
  return out;
}

std::string render_csv(const Transcript& transcript) {
  const bool speakers = std::ranges::any_of(transcript.segments, [](const Segment& s) { return !s.speaker.empty(); });
  std::string out = speakers ? "start,end,speaker,text\r\n" : "start,end,text\r\n";
  each_row(transcript, [&](const Segment& segment, const std::string& text, const Span& span) {
    out += std::to_string(span.start_ms) + ',' + std::to_string(span.end_ms) + ',' +
           (speakers ? quoted(lines_of(segment.speaker, " ")) + ',' : "") + quoted(text) + "\r\n";
  });
  return out;
}

std::string render_aud(const Transcript& transcript) {
  std::string out;
  each_row(transcript, [&](const Segment& segment, const std::string&, const Span& span) {
    out += in_seconds(span.start_ms) + "000\t" + in_seconds(span.end_ms) + "000\t" + spoken_line(segment) + '\n';
  });
  return out;
}

std::string render_otr(const Transcript& transcript) {
  std::string page;
  each_row(transcript, [&](const Segment& segment, const std::string&, const Span& span) {
    page += "<p><span class=\"timestamp\" contenteditable=\"false\" data-timestamp=\"" + in_seconds(span.start_ms) +
            "\">" + rough_time(static_cast<double>(span.start_ms / 1000)) + "</span> " +
            xml_escaped(spoken_line(segment)) + "<br></p>";
  });
  const std::string media = std::filesystem::path(valid_utf8(transcript.audio)).filename().string();
  const nlohmann::ordered_json json = {{"text", page}, {"media", media}, {"media-source", ""}, {"media-time", 0}};
  return json.dump() + '\n';
}

}  // namespace sotto
