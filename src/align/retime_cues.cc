#include "src/align/retime_cues.h"

#include <algorithm>
#include <cmath>

#include "src/subtitles/units.h"

namespace sotto {
namespace {

constexpr int64_t kMomentMs = 333;  // nothing is seen that is there for less

int64_t to_ms(double seconds) { return std::llrint(seconds * 1000); }

size_t bytes_without_spaces(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return c != ' '; }));
}

// The times of words of a text that is cut in another way: each has those of what it shares bytes with.
class WordTimes {
 public:
  explicit WordTimes(const Segment& segment) {
    for (const Word& word : segment.words) {
      end_ += bytes_without_spaces(word.text);
      words_.push_back({end_, &word});
    }
  }

  // Of the next word.
  void take(CueWord& word) {
    const size_t end = at_ + bytes_without_spaces(word.text);
    const auto first = std::ranges::upper_bound(words_, at_, {}, &Place::end);
    const auto last = std::ranges::lower_bound(words_, end, {}, &Place::end);
    at_ = end;
    if (first == words_.end()) return;
    word.start_ms = to_ms(first->word->start_s);
    word.end_ms = to_ms((last == words_.end() ? words_.back() : *last).word->end_s);
    word.probability = first->word->probability;
  }

 private:
  struct Place {
    size_t end;
    const Word* word;
  };
  std::vector<Place> words_;
  size_t end_ = 0, at_ = 0;
};

int64_t reading_ms(const FileCue& cue, CueFormat format, const SubtitleStyle& style) {
  return std::llrint(size_of(shown_text(cue, format)).graphemes * 1000 / style.reading_speed);
}

}  // namespace

std::string shown_text(const FileCue& cue, CueFormat format) {
  std::string text;
  for (const std::string& line : cue.text) text.append(text.empty() ? "" : " ").append(shown(line, format));
  return text;
}

std::vector<int> retime_by_words(CueFile& file, std::span<const Segment> segments, const SubtitleStyle& style,
                                 int64_t end_ms) {
  const int n = static_cast<int>(file.cues.size());
  const auto heard = [&](int i) { return !segments[static_cast<size_t>(i)].words.empty(); };
  int64_t free_ms = 0, shift_ms = 0;
  std::vector<int> kept;
  std::vector<FileCue> cues;
  std::vector<std::string> notes;  // above cues that are left out
  for (int i = 0; i < n; ++i) {
    FileCue& cue = file.cues[static_cast<size_t>(i)];
    cue.before.insert(cue.before.begin(), notes.begin(), notes.end());
    notes.clear();
    int next = i + 1;
    while (next < n && !heard(next)) ++next;
    const int64_t limit_ms = next < n ? to_ms(segments[static_cast<size_t>(next)].start_s) - style.gap_ms : end_ms;
    if (heard(i)) {
      const Segment& segment = segments[static_cast<size_t>(i)];
      const int64_t start_ms = std::max(free_ms, to_ms(segment.start_s));
      shift_ms = start_ms - cue.start_ms;
      const int64_t wanted_ms = std::max({to_ms(segment.end_s), start_ms + style.min_ms,
                                          start_ms + std::min(reading_ms(cue, file.format, style), style.max_ms)});
      cue.start_ms = start_ms;
      cue.end_ms = std::max(std::min(wanted_ms, limit_ms), start_ms + 1);
    } else {
      const int64_t length_ms = cue.end_ms - cue.start_ms;
      cue.start_ms = std::max(free_ms, cue.start_ms + shift_ms);
      cue.end_ms = std::min(cue.start_ms + length_ms, limit_ms);
      if (cue.end_ms < cue.start_ms + std::min(kMomentMs, length_ms)) {
        notes = std::move(cue.before);
        continue;
      }
    }
    free_ms = cue.end_ms + style.gap_ms;
    kept.push_back(i);
    cues.push_back(std::move(cue));
  }
  file.after.insert(file.after.begin(), notes.begin(), notes.end());
  file.cues = std::move(cues);
  return kept;
}

std::function<int64_t(int64_t)> moved_within(const CueFile& before, const CueFile& now, std::span<const int> kept) {
  return [before = before.cues, now = now.cues, kept = std::vector(kept.begin(), kept.end())](int64_t ms) {
    for (size_t i = 0; i < kept.size(); ++i) {
      const FileCue& old = before[static_cast<size_t>(kept[i])];
      if (ms < old.start_ms || ms > old.end_ms) continue;
      const auto length = static_cast<double>(std::max<int64_t>(1, old.end_ms - old.start_ms));
      const double share = static_cast<double>(ms - old.start_ms) / length;
      return now[i].start_ms + int64_t{std::llrint(share * static_cast<double>(now[i].end_ms - now[i].start_ms))};
    }
    return ms;
  };
}

std::vector<Cue> cues_of(const CueFile& file, std::span<const Segment> segments, std::span<const int> kept) {
  std::vector<Cue> cues;
  for (size_t i = 0; i < file.cues.size(); ++i) {
    WordTimes times(segments[static_cast<size_t>(kept[i])]);
    Cue& cue = cues.emplace_back();
    cue.start_ms = file.cues[i].start_ms;
    cue.end_ms = file.cues[i].end_ms;
    for (const std::string& line : file.cues[i].text) {
      CueLine& words = cue.lines.emplace_back();
      for (const WrittenWord& written : written_words(shown(line, file.format))) {
        CueWord& word = words.emplace_back();
        word.text = (written.space && words.size() > 1 ? " " : "") + written.text;
        word.start_ms = cue.start_ms;
        word.end_ms = cue.end_ms;
        times.take(word);
      }
    }
  }
  return cues;
}

}  // namespace sotto
