#include "src/live/outputs/events.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/utf8.h"

namespace sotto {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(double seconds) { return seconds > 0 ? std::round(seconds * 1000) / 1000 : 0.0; }

// One character at a time, with control characters as spaces: a client may put a text where they mean something.
std::string harmless(std::string_view text) {
  std::string out;
  const std::string valid = valid_utf8(text);
  for (std::string_view rest = valid; !rest.empty();) {
    const Character character = first_character(rest);
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0) ||
                         character.code == 0x2028 || character.code == 0x2029;
    out += control ? " " : rest.substr(0, character.length);
    rest.remove_prefix(character.length);
  }
  return out;
}

Json event_of(const char* kind, const CaptionUpdate& update, const std::vector<Word>& said) {
  Json event = {{"event", kind},
                {"heard", milliseconds(update.heard_s)},
                {"behind", milliseconds(update.behind_s)},
                {"language", harmless(update.language)}};
  std::string text;
  Json words = Json::array();
  for (const Word& word : said) {
    const std::string shown = harmless(word.text);
    const double start_s = milliseconds(word.start_s);
    text += shown;
    words.push_back({{"word", shown},
                     {"start", start_s},
                     {"end", std::max(start_s, milliseconds(word.end_s))},
                     {"probability", std::round(word.probability * 1e6) / 1e6}});
  }
  event["text"] = text;
  event["words"] = std::move(words);
  return event;
}

}  // namespace

Event notice_event(double heard_s, const std::string& sentence) {
  const Json json = {{"event", "notice"}, {"heard", milliseconds(heard_s)}, {"text", harmless(sentence)}};
  return {Event::Kind::notice, json.dump()};
}

Event end_event(double heard_s) {
  const Json json = {{"event", "end"}, {"heard", milliseconds(heard_s)}};
  return {Event::Kind::end, json.dump()};
}

std::string refined_lines(const Transcript& transcript) {
  std::string lines;
  for (const Segment& segment : transcript.segments) {
    const CaptionUpdate update = {.heard_s = segment.end_s,
                                  .language = segment.language.empty() ? transcript.language : segment.language};
    if (!segment.words.empty()) lines += event_of("refined", update, segment.words).dump() + '\n';
  }
  return lines + end_event(transcript.duration_s).json + '\n';
}

Event state_event(double heard_s, std::span<const std::string> events) {
  std::string json = R"({"event":"state","heard":)";
  json += Json(milliseconds(heard_s)).dump();
  json += R"(,"events":[)";
  for (size_t i = 0; i < events.size(); ++i) json.append(i > 0 ? "," : "").append(events[i]);
  json += "]}";
  return {Event::Kind::state, std::move(json)};
}

std::vector<Event> EventMaker::take(const CaptionUpdate& update) {
  std::vector<Event> events;
  if (!update.committed.empty() || update.ends_utterance) {
    Json event = event_of("committed", update, update.committed);
    event["ends_utterance"] = update.ends_utterance;
    events.push_back({Event::Kind::committed, event.dump()});
    tail_.clear();
  }
  std::string tail;
  for (const Word& word : update.tail) tail += word.text;
  if (tail != tail_) events.push_back({Event::Kind::partial, event_of("partial", update, update.tail).dump()});
  tail_ = std::move(tail);
  return events;
}

}  // namespace sotto
