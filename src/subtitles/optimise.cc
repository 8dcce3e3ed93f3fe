#include "src/subtitles/optimise.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

// One unit of cost is a cue more than needed. Break costs (units.h) count double at the end of a cue, which is a longer
// way to go for the eye than the end of a line.
constexpr double kCue = 1, kCueBreak = 2, kLineBreak = 1;
constexpr double kForcedBreak = 8;             // inside of what must not be parted, but doesn't fit
constexpr double kImbalance = 4;               // of lines, by the variance of their width in lines
constexpr double kLonelyWord = 0.8;            // one word on a line of several
constexpr double kFragment = 2, kFull = 0.5;   // a cue with less than this share of a line, not a sentence by itself
constexpr double kSentenceWithin = 0.15, kSentenceCut = 0.9;  // sentences that share a cue: whole, or with a part of one
constexpr double kPause = 1.5, kShortPauseS = 0.7;            // for each second of silence within a cue beyond this
constexpr double kFast = 1.5;                  // a cue that can't be read in its time, by however little
constexpr double kTooFast = 6, kTooShort = 3, kTooLong = 20, kCut = 0.8;
constexpr double kSegmentBreak = 0.8;          // where the model ended a segment, it heard an end
constexpr int64_t kMomentMs = 333;

double seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

}  // namespace

CueCosts::CueCosts(std::span<Unit> units, const SubtitleStyle& style, std::span<const int64_t> cuts_ms, int64_t end_ms)
    : units_(units), style_(style), times_(units, style, cuts_ms, end_ms), columns_(1), words_(1), sentences_(1),
      pauses_(1) {
  int64_t voice_end_ms = INT64_MAX;
  for (const Unit& unit : units) {
    columns_.push_back(columns_.back() + unit.size.columns + unit.space);
    words_.push_back(words_.back() + (unit.space || unit.break_cost < kNoBreak));
    sentences_.push_back(sentences_.back() + unit.begins_sentence);
    const double pause_s = unit.word.start_ms > voice_end_ms ? seconds(unit.word.start_ms - voice_end_ms) : 0;
    pauses_.push_back(pauses_.back() + kPause * std::max(0.0, pause_s - kShortPauseS));
    voice_end_ms = unit.word.end_ms;
  }
  allow_needed_breaks(units);
}

void CueCosts::allow_needed_breaks(std::span<Unit> units) const {
  for (size_t i = 1; style_.by_segment && i < units.size(); ++i)
    if (units[i].segment != units[i - 1].segment) units[i].break_cost = std::min<float>(units[i].break_cost, kForcedBreak);
  for (int begin = 0, end; begin < static_cast<int>(units.size()); begin = end) {
    for (end = begin + 1; end < static_cast<int>(units.size()) && units[end].break_cost >= kNoBreak;) ++end;
    if (fits(begin, end)) continue;
    for (int i = begin + 1; i < end; ++i) units[i].break_cost = kForcedBreak;
  }
}

double CueCosts::width(int begin, int end) const { return columns_[end] - columns_[begin] - units_[begin].space; }

int CueCosts::words(int begin, int end) const { return words_[end] - words_[begin + 1] + 1; }

bool CueCosts::fits(int begin, int end) const {
  return width(begin, end) <= style_.columns &&
         (style_.words_per_line == 0 || words(begin, end) <= style_.words_per_line);
}

void CueCosts::begin_at(int begin) {
  begin_ = begin;
  last_end_ = begin;
  const int n = static_cast<int>(units_.size());
  const int64_t columns = int64_t{style_.columns + 1} * style_.lines;  // a space fits between two lines
  for (bool some = false; last_end_ < n; ++last_end_) {
    const Unit& unit = units_[last_end_];
    if (last_end_ > begin && unit.speaker != units_[begin].speaker) break;
    if (style_.by_segment && unit.segment != units_[begin].segment) break;
    if (some && unit.word.start_ms > times_.start_ms(begin) + style_.max_ms) break;
    if (last_end_ > begin && width(begin, last_end_ + 1) > static_cast<double>(columns)) break;
    some = some || (last_end_ > begin && unit.break_cost < kNoBreak);
  }
  find_lines();
}

// Imbalance is the sum of the squares of the lines' widths, less the least that it could be: a sum over lines, so the
// best lines up to a word are part of the best up to a later one.
void CueCosts::find_lines() {
  const int n_ends = last_end_ - begin_ + 1;
  for (n_layers_ = 0; n_layers_ < style_.lines;) {
    const int n_lines = ++n_layers_;
    if (static_cast<int>(lines_.size()) < n_lines) lines_.emplace_back();
    std::vector<Line>& now = lines_[n_lines - 1];
    now.assign(n_ends, {});
    for (int end = begin_ + n_lines; end <= last_end_; ++end) {
      Line& best = now[end - begin_];
      const auto try_line_from = [&](int first, double cost) {
        const double w = width(first, end) / style_.columns;
        cost += kImbalance * w * w + (words(first, end) == 1 ? kLonelyWord : 0);
        if (cost < best.cost) best = {cost, first};
      };
      if (n_lines == 1) {
        if (fits(begin_, end)) try_line_from(begin_, 0);
        continue;
      }
      for (int first = end - 1; first > begin_ && fits(first, end); --first) {
        const double before = lines_[n_lines - 2][first - begin_].cost;
        if (before < kImpossible && units_[first].break_cost < kNoBreak)
          try_line_from(first, before + kLineBreak * units_[first].break_cost);
      }
    }
    if (now[n_ends - 1].cost < kImpossible) return;
  }
}

// One line where that is enough, two where those are.
int CueCosts::lines_needed(int end) const {
  for (int n = 1; n <= n_layers_; ++n)
    if (lines_[n - 1][end - begin_].cost < kImpossible) return n;
  return 0;
}

double CueCosts::cost_of_lines(int end) const {
  const int n = lines_needed(end);
  if (n == 0) return kImpossible;
  if (n == 1) return 0;
  const double all = width(begin_, end) / style_.columns;
  return lines_[n - 1][end - begin_].cost - kImbalance * all * all / n;
}

double CueCosts::cost_of_break(int end) const {
  double cost = 0;
  const bool whole = end == static_cast<int>(units_.size()) || units_[end].begins_sentence;
  if (end < static_cast<int>(units_.size())) {
    const double pause_s = seconds(std::max<int64_t>(0, units_[end].word.start_ms - units_[end - 1].word.end_ms));
    cost = kCueBreak * units_[end].break_cost / std::min(1 + 1.5 * pause_s, 4.0);
    if (units_[end].segment != units_[end - 1].segment) cost *= kSegmentBreak;
  }
  const bool sentence = whole && units_[begin_].begins_sentence;
  const int within = sentences_[end] - sentences_[begin_ + 1];
  cost += within * (sentence ? kSentenceWithin : kSentenceCut);
  const double share = width(begin_, end) / style_.columns;
  if (!sentence && share < kFull) cost += kFragment * (1 - share / kFull);
  return cost + pauses_[end] - pauses_[begin_ + 1];
}

double CueCosts::cost_of_times(int end) const {
  const int64_t start_ms = times_.start_ms(begin_), end_ms = times_.end_ms(begin_, end);
  const int64_t shown_ms = std::max<int64_t>(end_ms - start_ms, 1);
  double cost = kCut * times_.cuts_within(start_ms, end_ms);
  const double excess = times_.characters(begin_, end) / seconds(shown_ms) / style_.reading_speed - 1;
  if (excess > 0)
    cost += kFast + kTooFast * (excess < 1 ? excess * excess : std::min(2 * excess, 40.0) - 1) + std::min(excess, 1.0);
  if (shown_ms < style_.min_ms) cost += kTooShort * (1 - seconds(shown_ms) / seconds(style_.min_ms));
  if (shown_ms < kMomentMs) cost += kTooLong * (1 - seconds(shown_ms) / seconds(kMomentMs));
  const int64_t late_ms = units_[end - 1].word.end_ms - (start_ms + style_.max_ms);
  if (late_ms > 0 && end - begin_ > 1) cost += kTooLong * (1 + seconds(late_ms));
  return cost;
}

double CueCosts::operator()(int end) const {
  if (end < static_cast<int>(units_.size()) && units_[end].break_cost >= kNoBreak) return kImpossible;
  const double lines = cost_of_lines(end);
  return lines >= kImpossible ? kImpossible : kCue + lines + cost_of_break(end) + cost_of_times(end);
}

std::vector<int> CueCosts::line_ends(int end) const {
  std::vector<int> ends;
  for (int n = lines_needed(end); n > 0; --n) {
    ends.push_back(end);
    end = lines_[n - 1][end - begin_].before;
  }
  std::ranges::reverse(ends);
  return ends;
}

std::vector<int> best_cue_ends(CueCosts& costs, int n_units) {
  std::vector<double> best(n_units + 1, CueCosts::kImpossible);
  std::vector<int> begins(n_units + 1);
  best[0] = 0;
  for (int begin = 0; begin < n_units; ++begin) {
    if (best[begin] >= CueCosts::kImpossible) continue;
    costs.begin_at(begin);
    for (int end = begin + 1; end <= costs.last_end(); ++end) {
      const double cost = costs(end);
      if (cost < CueCosts::kImpossible && best[begin] + cost < best[end]) {
        best[end] = best[begin] + cost;
        begins[end] = begin;
      }
    }
  }
  std::vector<int> ends;
  for (int end = n_units; end > 0; end = begins[end]) ends.push_back(end);
  std::ranges::reverse(ends);
  return ends;
}

double cost_of(CueCosts& costs, std::span<const int> cue_ends) {
  double sum = 0;
  int begin = 0;
  for (const int end : cue_ends) {
    costs.begin_at(begin);
    sum += end <= costs.last_end() ? costs(end) : CueCosts::kImpossible;
    begin = end;
  }
  return sum;
}

}  // namespace sotto
