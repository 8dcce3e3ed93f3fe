// What phoneticians and scoring programs read: Praat's TextGrid; NIST's CTM, STM and RTTM.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "models/utf8.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

struct Label {
  int64_t start_ms, end_ms;
  std::string text;
  float probability = 0;
};

std::vector<std::string_view> parts_at_spaces(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t length = 0;
    while (begin + length < text.size()) {
      const Character character = first_character(text.substr(begin + length));
      if (is_white_space(character.code)) break;
      length += character.length;
    }
    if (length > 0) parts.push_back(text.substr(begin, length));
    begin += length;
    if (begin < text.size()) begin += first_character(text.substr(begin)).length;
  }
  return parts;
}

// Words, each without a space. Those of one stretch of time share it by their lengths.
std::vector<Label> words_of(const Segment& segment) {
  std::vector<Label> labels;
  const auto add = [&](const std::string& written, const Span& span, float probability) {
    const std::string text = lines_of(written, " ");
    const auto parts = parts_at_spaces(text);
    int64_t total = 0, done = 0;
    for (const std::string_view part : parts) total += std::ssize(part);
    const int64_t length_ms = span.end_ms - span.start_ms;
    for (const std::string_view part : parts) {
      const int64_t start_ms = span.start_ms + length_ms * done / total;
      done += std::ssize(part);
      labels.push_back({start_ms, span.start_ms + length_ms * done / total, std::string(part), probability});
    }
  };
  for (const Word& word : segment.words) add(word.text, {word.start_s, word.end_s}, word.probability);
  if (segment.words.empty()) add(segment.text, span_of(segment), 1);
  return labels;
}

// NIST's names have no spaces.
std::string one_word(std::string_view text, std::string_view otherwise) {
  std::string word = escaped(lines_of(text, " "), {{" ", "_"}});
  return word.empty() ? std::string(otherwise) : word;
}

std::string recording(const Transcript& transcript) {
  return one_word(std::filesystem::path(transcript.audio).stem().string(), "audio");
}

// Who speaks, in the order in which they come; "" for not known.
std::vector<std::string> voices_of(const Transcript& transcript) {
  std::vector<std::string> voices;
  for (const Segment& segment : transcript.segments)
    if (std::ranges::find(voices, segment.speaker) == voices.end()) voices.push_back(segment.speaker);
  return voices;
}

// NIST's files are sorted by channel, then time. Calls line(segment, channel); each speaker has a channel, from 1 on.
template <typename Line>
void each_by_channel(const Transcript& transcript, Line line) {
  int channel = 0;
  for (const std::string& voice : voices_of(transcript)) {
    ++channel;
    std::vector<const Segment*> segments;
    for (const Segment& segment : transcript.segments)
      if (segment.speaker == voice) segments.push_back(&segment);
    std::ranges::stable_sort(segments, {}, [](const Segment* segment) { return span_of(*segment).start_ms; });
    for (const Segment* segment : segments) line(*segment, channel);
  }
}

struct Tier {
  std::string name;
  std::vector<Label> labels;
};

// Intervals that follow each other from 0 to the end, none of them without length: texts that leave none for
// themselves stand with the one before them, the first of all with the one after.
std::vector<Label> intervals_of(std::vector<Label> labels, int64_t end_ms) {
  std::ranges::stable_sort(labels, {}, &Label::start_ms);
  std::vector<Label> intervals;
  std::string waiting;
  int64_t free_ms = 0;
  for (Label& label : labels) {
    label.start_ms = std::max(label.start_ms, free_ms);
    if (label.end_ms <= label.start_ms) {
      std::string& text = intervals.empty() || intervals.back().text.empty() ? waiting : intervals.back().text;
      text.append(text.empty() ? "" : " ").append(label.text);
      continue;
    }
    if (label.start_ms > free_ms) intervals.push_back({free_ms, label.start_ms, ""});
    if (!waiting.empty()) label.text.insert(0, waiting + ' ');
    waiting.clear();
    free_ms = label.end_ms;
    intervals.push_back(std::move(label));
  }
  if (free_ms < end_ms) intervals.push_back({free_ms, end_ms, ""});
  if (!waiting.empty()) intervals.back().text = waiting;
  return intervals;
}

std::string praat_string(const std::string& text) { return '"' + escaped(text, {{"\"", "\"\""}}) + '"'; }

}  // namespace

std::string render_textgrid(const Transcript& transcript) {
  std::vector<Tier> tiers;
  const std::vector<std::string> voices = voices_of(transcript);
  for (const std::string& voice : voices.empty() ? std::vector<std::string>{""} : voices) {
    const std::string name = lines_of(voice, " ");
    Tier segments{name.empty() ? "segments" : name, {}}, words{name.empty() ? "words" : name + " words", {}};
    for (const Segment& segment : transcript.segments) {
      const std::string text = lines_of(segment.text, " ");
      if (segment.speaker != voice || text.empty()) continue;
      segments.labels.push_back({span_of(segment).start_ms, span_of(segment).end_ms, text});
      std::ranges::copy(words_of(segment), std::back_inserter(words.labels));
    }
    tiers.push_back(std::move(segments));
    tiers.push_back(std::move(words));
  }
  int64_t end_ms = std::max<int64_t>(1, Span::to_ms(transcript.duration_s));
  for (const Tier& tier : tiers)
    for (const Label& label : tier.labels) end_ms = std::max({end_ms, label.start_ms, label.end_ms});

  const auto times = [](const std::string& indent, int64_t start_ms, int64_t until_ms) {
    return indent + "xmin = " + in_seconds(start_ms) + "\n" + indent + "xmax = " + in_seconds(until_ms) + "\n";
  };
  std::string out = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n" + times("", 0, end_ms) +
                    "tiers? <exists>\nsize = " + std::to_string(tiers.size()) + "\nitem []:\n";
  for (size_t t = 0; t < tiers.size(); ++t) {
    const std::vector<Label> intervals = intervals_of(std::move(tiers[t].labels), end_ms);
    out += "    item [" + std::to_string(t + 1) + "]:\n        class = \"IntervalTier\"\n        name = " +
           praat_string(tiers[t].name) + "\n" + times("        ", 0, end_ms) +
           "        intervals: size = " + std::to_string(intervals.size()) + "\n";
    for (size_t i = 0; i < intervals.size(); ++i)
      out += "        intervals [" + std::to_string(i + 1) + "]:\n" +
             times("            ", intervals[i].start_ms, intervals[i].end_ms) + "            text = " +
             praat_string(intervals[i].text) + "\n";
  }
  return out;
}

std::string render_ctm(const Transcript& transcript) {
  std::string out;
  const std::string name = recording(transcript);
  each_by_channel(transcript, [&](const Segment& segment, int channel) {
    for (const Label& word : words_of(segment)) {
      char probability[16];
      std::snprintf(probability, sizeof probability, "%.3f", static_cast<double>(std::clamp(word.probability, 0.0f, 1.0f)));
      out += name + ' ' + std::to_string(channel) + ' ' + in_seconds(word.start_ms) + ' ' +
             in_seconds(word.end_ms - word.start_ms) + ' ' + word.text + ' ' + probability + '\n';
    }
  });
  return out;
}

std::string render_stm(const Transcript& transcript) {
  std::string out;
  const std::string name = recording(transcript);
  each_by_channel(transcript, [&](const Segment& segment, int channel) {
    // braces stand around alternatives
    const std::string text = escaped(lines_of(segment.text, " "), {{"{", "("}, {"}", ")"}});
    if (text.empty()) return;
    out += name + ' ' + std::to_string(channel) + ' ' + one_word(segment.speaker, "speaker") + ' ' +
           in_seconds(span_of(segment).start_ms) + ' ' + in_seconds(span_of(segment).end_ms) + ' ' + text + '\n';
  });
  return out;
}

std::string render_rttm(const Transcript& transcript) {
  std::string out;
  const std::string name = recording(transcript);
  each_by_channel(transcript, [&](const Segment& segment, int channel) {
    const Span span = span_of(segment);
    if (span.end_ms == span.start_ms || lines_of(segment.text, " ").empty()) return;
    out += "SPEAKER " + name + ' ' + std::to_string(channel) + ' ' + in_seconds(span.start_ms) + ' ' +
           in_seconds(span.end_ms - span.start_ms) + " <NA> <NA> " + one_word(segment.speaker, "speaker") + " <NA> <NA>\n";
  });
  return out;
}

}  // namespace sotto
