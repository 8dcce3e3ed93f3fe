#include "src/subtitles/whisper_lines.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr int kNoLimit = 1000;
constexpr int64_t kLongPauseMs = 3000;

int64_t to_ms(double seconds) { return seconds > 0 ? std::llrint(std::min(seconds, 1e12) * 1000) : 0; }

CueWord cue_word(const Word& word) {
  return {to_ms(word.start_s), std::max(to_ms(word.start_s), to_ms(word.end_s)), word.text, word.probability};
}

int characters(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

Cue cue_of(const Segment& segment) {
  Cue cue{.speaker = segment.speaker};
  CueLine& line = cue.lines.emplace_back();
  for (const Word& word : segment.words) line.push_back(cue_word(word));
  if (std::string(strip(text_of(line))) != strip(segment.text))
    line = {{to_ms(segment.start_s), to_ms(segment.end_s), segment.text, 0}};
  const bool by_words = !segment.words.empty();
  cue.start_ms = to_ms(by_words ? segment.words.front().start_s : segment.start_s);
  cue.end_ms = std::max(cue.start_ms, to_ms(by_words ? segment.words.back().end_s : segment.end_s));
  line.front().text.erase(0, line.front().text.find_first_not_of(' '));
  return cue;
}

// Fills lines with one word after the other.
class Filler {
 public:
  explicit Filler(const SubtitleOptions& options)
      : columns_(options.columns.value_or(kNoLimit)),
        lines_(options.lines),
        words_(options.words_per_line.value_or(kNoLimit)),
        keeps_segments_(!options.columns || !options.lines) {}

  void add(const Segment& segment) {
    for (size_t i = 0; i < segment.words.size(); ++i) {
      if (strip(segment.words[i].text).empty()) continue;
      add(cue_word(segment.words[i]), keeps_segments_ && i % static_cast<size_t>(words_) == 0, segment.speaker);
    }
  }
  std::vector<Cue> cues;

 private:
  void add(CueWord word, bool begins_cue, const std::string& speaker) {
    const bool pause = !keeps_segments_ && !cues.empty() && word.start_ms - last_start_ms_ > kLongPauseMs;
    const bool full = line_characters_ + characters(word.text) > columns_;
    last_start_ms_ = word.start_ms;
    if (cues.empty() || begins_cue || full || pause) {
      word.text = strip(word.text);
      const bool no_line_left = lines_ && static_cast<int>(cues.empty() ? 0 : cues.back().lines.size()) >= *lines_;
      if (cues.empty() || begins_cue || (lines_ && pause) || no_line_left)
        cues.push_back({.start_ms = word.start_ms, .speaker = speaker});
      cues.back().lines.emplace_back();
      line_characters_ = 0;
    }
    line_characters_ += characters(word.text);
    cues.back().end_ms = std::max(cues.back().start_ms, word.end_ms);
    cues.back().lines.back().push_back(std::move(word));
  }

  const int columns_;
  const std::optional<int> lines_;
  const int words_;
  const bool keeps_segments_;
  int line_characters_ = 0;
  int64_t last_start_ms_ = 0;
};

// The attention may give a word no time, or one that begins before the word before it: no cue begins before the one before
// it ends, and each is there for a frame at least, which what comes after gives, or at the end of the sound what came
// before. What needs nothing stays as it is.
void put_in_order(std::vector<Cue>& cues, int64_t frame_ms, int64_t end_ms) {
  int64_t free_ms = 0;
  for (const Cue& cue : cues) end_ms = std::max(end_ms, cue.end_ms);
  for (Cue& cue : cues) {
    cue.start_ms = std::max(cue.start_ms, free_ms);
    if (cue.end_ms <= cue.start_ms) cue.end_ms = cue.start_ms + frame_ms;
    free_ms = cue.end_ms;
  }
  if (end_ms < static_cast<int64_t>(cues.size()) * frame_ms) return;  // no room for that many
  int64_t limit_ms = end_ms;
  for (size_t i = cues.size(); i-- > 0 && cues[i].end_ms > limit_ms;) {
    cues[i].end_ms = limit_ms;
    limit_ms = cues[i].start_ms = std::min(cues[i].start_ms, limit_ms - frame_ms);
  }
}

}  // namespace

std::vector<Cue> whisper_cues(const Transcript& transcript, const SubtitleOptions& options) {
  const bool fills = options.columns || options.lines || options.words_per_line;
  Filler filler(options);
  for (const Segment& segment : transcript.segments) {
    if (strip(segment.text).empty()) continue;
    if (fills && !segment.words.empty())
      filler.add(segment);
    else
      filler.cues.push_back(cue_of(segment));
  }
  const double frame_ms = resolve(options, transcript.language).frame_ms;
  put_in_order(filler.cues, std::llrint(frame_ms), transcript.duration_s > 0 ? to_ms(transcript.duration_s) : INT64_MAX);
  return std::move(filler.cues);
}

std::vector<Cue> with_each_word_marked(std::span<const Cue> cues) {
  std::vector<Cue> marked;
  for (const Cue& cue : cues) {
    int64_t free_ms = cue.start_ms;
    const auto add = [&](int64_t end_ms) -> Cue& {
      Cue& part = marked.emplace_back(cue);
      part.start_ms = free_ms;
      part.end_ms = free_ms = end_ms;
      return part;
    };
    for (size_t l = 0; l < cue.lines.size(); ++l)
      for (size_t w = 0; w < cue.lines[l].size(); ++w) {
        const CueWord& word = cue.lines[l][w];
        const int64_t start_ms = std::clamp(word.start_ms, free_ms, cue.end_ms);
        const int64_t end_ms = std::clamp(word.end_ms, start_ms, cue.end_ms);
        if (start_ms > free_ms) add(start_ms);
        if (end_ms == start_ms) continue;
        add(end_ms).lines[l][w].marked = true;
      }
    if (cue.end_ms > free_ms) add(cue.end_ms);
  }
  return marked;
}

}  // namespace sotto
