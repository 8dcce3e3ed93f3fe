#include "src/subtitles/read_transcript.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/error.h"
#include "models/utf8.h"
#include "src/coverage.h"
#include "src/subtitles/read_text_file.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

// A value of another type than is expected throws Json::exception.
double number(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null() ? found->get<double>() : otherwise;
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null() ? found->get<std::string>() : "";
}

const Json& object(const Json& json) {
  json.get_ref<const Json::object_t&>();
  return json;
}

// Words that couldn't be aligned have no times in some programs' files: they come where the word before them ends.
Segment segment_of(const Json& json) {
  Segment segment;
  segment.start_s = number(object(json), "start", 0);
  segment.end_s = number(json, "end", segment.start_s);
  segment.text = text(json, "text");
  segment.speaker = text(json, "speaker");
  double at_s = segment.start_s;
  const auto words = json.find("words");
  if (words == json.end() || words->is_null()) return segment;
  std::string joined;
  for (const Json& word : words->get_ref<const Json::array_t&>()) joined += text(object(word), "word");
  const bool spaces = strip(joined) == strip(segment.text);  // before each word, as openai-whisper has them
  for (const Json& word : *words) {
    Word& last = segment.words.emplace_back();
    last.start_s = number(word, "start", at_s);
    last.end_s = at_s = number(word, "end", last.start_s);
    last.probability = static_cast<float>(number(word, "probability", number(word, "score", 0)));
    last.text = std::string(spaces ? "" : " ").append(text(word, "word"));
  }
  return segment;
}

Transcript transcript_of(const Json& json) {
  Transcript transcript;
  transcript.audio = text(json, "audio");
  transcript.model = text(json, "model");
  transcript.device = text(json, "device");
  transcript.language = text(json, "language");
  transcript.duration_s = number(json, "duration", 0);
  for (const Json& segment : json.at("segments").get_ref<const Json::array_t&>()) {
    transcript.segments.push_back(segment_of(segment));
    transcript.segments.back().id = static_cast<int>(transcript.segments.size()) - 1;
  }
  const auto coverage = json.find("coverage");
  if (coverage != json.end() && coverage->is_array())
    for (const Json& stretch : *coverage) {
      const std::string kind = text(stretch, "kind");
      for (const Fate fate : {Fate::transcribed, Fate::silence, Fate::skipped, Fate::low_confidence, Fate::failed})
        if (kind == name(fate))
          transcript.coverage.stretches.push_back({number(stretch, "start", 0), number(stretch, "end", 0), fate});
    }
  return transcript;
}

}  // namespace

std::vector<Transcript> read_transcripts(const std::string& path) {
  const std::string content = read_text_file(path);
  std::vector<Transcript> transcripts;
  const auto add = [&](const std::string& json) {
    const Json value = Json::parse(json);
    for (const Json& one : value.is_array() ? value : Json::array({value})) transcripts.push_back(transcript_of(one));
  };
  try {
    const bool one_value = Json::accept(content);
    if (one_value) add(content);
    for (size_t begin = 0; !one_value && begin < content.size();) {
      const size_t end = std::min(content.find('\n', begin), content.size());
      if (content.find_first_not_of(" \t\r", begin) < end) add(content.substr(begin, end - begin));
      begin = end + 1;
    }
  } catch (const Json::exception&) {
    throw Error(input_name(path) + " is not a transcript in JSON; sotto FILE -f json --word-timestamps True writes one");
  }
  if (transcripts.empty()) throw Error(input_name(path) + " holds nothing; a transcript in JSON was expected");
  return transcripts;
}

}  // namespace sotto
