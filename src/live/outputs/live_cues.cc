#include "src/live/outputs/live_cues.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "models/error.h"
#include "src/live/outputs/sentences.h"
#include "src/subtitles/columns.h"
#include "src/subtitles/layout.h"

namespace sotto {
namespace {

constexpr int64_t kMomentMs = 333;    // as in files: nothing is seen that is there for less
constexpr int64_t kUnsaidMs = 1000;   // what was said is known after so long

int64_t to_ms(double seconds) { return seconds > 0 ? std::llrint(seconds * 1000) : 0; }

int columns_of(std::span<const Word> words) {
  int columns = 0;
  for (const Word& word : words) columns += size_of(word.text).columns;
  return columns;
}

SubtitleOptions with_style(SubtitleOptions options) {
  if (options.style.empty()) options.style = "broadcast";
  return options;
}

size_t count_visible(const Cue& cue) {
  size_t count = 0;
  for (const CueLine& line : cue.lines)
    for (const CueWord& word : line) count += sotto::count_visible(word.text);
  return count;
}

}  // namespace

LiveCues::LiveCues(const SubtitleOptions& options) : options_(with_style(options)), style_(resolve(options_, "")) {
  if (is_whisper(options_) || style_.by_segment || options_.highlight_words || !options_.shots.empty())
    throw Error("live subtitles have no style \"plain\" or \"whisper\", no highlighted words and no cuts of a picture: "
                "those need the whole transcript");
}

std::vector<Cue> LiveCues::take(const CaptionUpdate& update) {
  if (!update.language.empty() && update.language != language_) {
    if (!open_.empty()) lay_out_first(open_.size());  // a line has one language
    language_ = update.language;
    style_ = resolve(options_, language_);
  }
  open_.insert(open_.end(), update.committed.begin(), update.committed.end());
  tail_ = !update.tail.empty();
  if (const size_t n = words_to_lay_out(update.ends_utterance); n > 0) lay_out_first(n);
  else if (has_first_cues()) lay_out_first_cues();
  return heard(update.heard_s);
}

std::vector<Cue> LiveCues::heard(double heard_s) {
  heard_ms_ = std::max(heard_ms_, to_ms(heard_s));
  if (last_ && !open_.empty()) release(to_ms(open_.front().start_s));
  else if (last_ && !tail_ && heard_ms_ >= last_->end_ms + kUnsaidMs) release(std::nullopt);
  return std::exchange(ready_, {});
}

std::vector<Cue> LiveCues::finish() {
  if (!open_.empty()) lay_out_first(open_.size());
  if (last_) {
    last_->end_ms = std::max(std::min(last_->end_ms, heard_ms_), last_->start_ms + kMomentMs);
    release(std::nullopt);
  }
  return std::exchange(ready_, {});
}

// All of them at a pause; else those up to the last sentence that is over, unless they would make a poor cue.
size_t LiveCues::words_to_lay_out(bool paused) const {
  if (paused) return open_.size();
  const std::vector<bool> begins = begins_sentence(open_, language_);
  for (size_t n = open_.size(); n-- > 1;) {
    if (!begins[n]) continue;
    const std::span<const Word> sentence(open_.data(), n);
    const bool long_enough = to_ms(open_[n].start_s - open_[0].start_s) >= style_.min_ms + style_.gap_ms;
    return long_enough && columns_of(sentence) >= style_.columns / 2 ? n : 0;
  }
  return 0;
}

bool LiveCues::has_first_cues() const {
  if (open_.empty()) return false;
  return to_ms(open_.back().end_s - open_.front().start_s) > 2 * style_.max_ms ||
         columns_of(open_) > 3 * style_.columns * style_.lines;
}

std::vector<Cue> LiveCues::cues_of(size_t n_words) const {
  std::vector<Cue> cues = lay_out(transcript_of(std::span(open_.data(), n_words), language_), options_);
  std::erase_if(cues, [](const Cue& cue) { return count_visible(cue) == 0; });
  return cues;
}

void LiveCues::lay_out_first(size_t n_words) {
  place(cues_of(n_words));
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(n_words));
}

// The cues of a sentence that goes on, but for the last, which may yet take other words.
void LiveCues::lay_out_first_cues() {
  std::vector<Cue> cues = cues_of(open_.size());
  size_t n_cues = 0, n_words = 0, in_cues = 0, in_words = 0;
  for (size_t cue = 0, word = 0; cue + 1 < cues.size(); ++cue) {  // as many as end where a word does
    in_cues += count_visible(cues[cue]);
    while (word < open_.size() && in_words < in_cues) in_words += sotto::count_visible(open_[word++].text);
    if (in_words == in_cues) n_cues = cue + 1, n_words = word;
  }
  if (n_cues == 0) return lay_out_first(open_.size());
  cues.resize(n_cues);
  place(std::move(cues));
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(n_words));
}

void LiveCues::place(std::vector<Cue> cues) {
  for (Cue& cue : cues) {
    if (last_) release(cue.start_ms);
    cue.start_ms = std::max(cue.start_ms, free_ms_);
    cue.end_ms = std::clamp(cue.end_ms, cue.start_ms + std::min(kMomentMs, style_.max_ms), cue.start_ms + style_.max_ms);
    last_ = std::move(cue);
  }
}

// The last cue ends as it wanted to, but before the next words; where these come soon it stays up to the gap.
void LiveCues::release(std::optional<int64_t> next_start_ms) {
  Cue cue = *std::exchange(last_, std::nullopt);
  if (next_start_ms) {
    const int64_t limit_ms = *next_start_ms - style_.gap_ms;
    if (limit_ms - cue.end_ms < style_.close_gap_ms) cue.end_ms = limit_ms;
    cue.end_ms = std::clamp(cue.end_ms, cue.start_ms + std::min(kMomentMs, style_.max_ms), cue.start_ms + style_.max_ms);
  }
  free_ms_ = cue.end_ms + style_.gap_ms;
  ready_.push_back(std::move(cue));
}

}  // namespace sotto
