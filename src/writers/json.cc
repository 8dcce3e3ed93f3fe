// Transcripts as JSON, with openai-whisper's keys and a few more.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/utf8.h"
#include "src/coverage.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

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

std::string render_jsonl(const Transcript& transcript) { return json_of(transcript).dump() + '\n'; }

}  // namespace sotto
