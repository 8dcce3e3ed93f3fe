#include "src/subtitles/cue_times.h"

#include <algorithm>
#include <cmath>

#include "src/subtitles/columns.h"

namespace sotto {
namespace {

constexpr double kNearCutFrames = 12;  // half a second of film
constexpr double kOverCutFrames = 7;   // of speech that may be without its text, to respect a cut
constexpr double kOffVoiceFrames = 3;  // that a cue may come too early or too late
constexpr int64_t kMomentMs = 333;     // nothing is seen that is there for less

// The cut nearest to a time, among those from `before` ms before to `after` ms behind it; -1: none.
int64_t near_cut(std::span<const int64_t> cuts_ms, int64_t at_ms, double before_ms, double after_ms) {
  int64_t nearest = -1;
  for (auto cut = std::ranges::lower_bound(cuts_ms, at_ms - std::llrint(before_ms));
       cut != cuts_ms.end() && *cut <= at_ms + std::llrint(after_ms); ++cut)
    if (nearest < 0 || std::abs(*cut - at_ms) < std::abs(nearest - at_ms)) nearest = *cut;
  return nearest;
}

}  // namespace

CueTimes::CueTimes(std::span<const Unit> units, const SubtitleStyle& style, std::span<const int64_t> cuts_ms,
                   int64_t end_ms)
    : units_(units), style_(style), cuts_ms_(cuts_ms), end_ms_(end_ms), characters_(1) {
  for (const Unit& unit : units) {
    characters_.push_back(characters_.back() + unit.size.graphemes + unit.space);
    const int64_t voice_ms = unit.word.start_ms;
    const int64_t cut_ms = near_cut(cuts_ms, voice_ms, kNearCutFrames * style.frame_ms, kOverCutFrames * style.frame_ms);
    const int64_t start_ms = cut_ms < 0 ? voice_ms : cut_ms;
    starts_ms_.push_back(starts_ms_.empty() ? start_ms : std::max(starts_ms_.back(), start_ms));
  }
}

int64_t CueTimes::end_ms(int begin, int end) const {
  const int64_t start_ms = starts_ms_[begin], voice_end_ms = units_[end - 1].word.end_ms;
  const bool last = end == static_cast<int>(units_.size());
  const int64_t before_next_ms = last ? INT64_MAX : starts_ms_[end] - style_.gap_ms;
  const int64_t limit_ms = std::min({start_ms + style_.max_ms, before_next_ms, end_ms_});
  const auto reading_ms = static_cast<int64_t>(std::ceil(characters(begin, end) * 1000 / style_.reading_speed));
  int64_t shown_until_ms = std::min(std::max({voice_end_ms, start_ms + style_.min_ms, start_ms + reading_ms}), limit_ms);
  const int64_t cut_ms = near_cut(cuts_ms_, shown_until_ms, kNearCutFrames * style_.frame_ms,
                                  kNearCutFrames * style_.frame_ms);
  if (cut_ms >= 0) {
    const int64_t before_cut_ms = cut_ms - std::max<int64_t>(style_.gap_ms, std::llrint(2 * style_.frame_ms));
    if (before_cut_ms <= limit_ms && before_cut_ms - start_ms >= style_.min_ms &&
        before_cut_ms >= voice_end_ms - kOverCutFrames * style_.frame_ms)
      return before_cut_ms;
  }
  if (!last && before_next_ms - shown_until_ms < style_.close_gap_ms)
    shown_until_ms = std::max(shown_until_ms, limit_ms);
  return shown_until_ms;
}

int CueTimes::cuts_within(int64_t start_ms, int64_t end_ms) const {
  const int64_t margin_ms = std::llrint(kNearCutFrames * style_.frame_ms);
  const auto first = std::ranges::lower_bound(cuts_ms_, start_ms + margin_ms);
  const auto last = std::ranges::lower_bound(cuts_ms_, end_ms - margin_ms);
  return first < last ? static_cast<int>(last - first) : 0;
}

void lend_time(std::span<Cue> cues, const SubtitleStyle& style, std::span<const int64_t> cuts_ms) {
  const auto reach_ms = static_cast<int64_t>(kOffVoiceFrames * style.frame_ms);
  const auto voice_ms = [](const Cue& cue) { return cue.lines.front().front().start_ms; };
  const auto lacks_ms = [&](const Cue& cue) {  // negative: it can spare as much
    const double reading_ms = size_of(text_of(cue)).graphemes * 1000 / style.reading_speed;
    return std::max(style.min_ms, static_cast<int64_t>(std::ceil(reading_ms))) - (cue.end_ms - cue.start_ms);
  };
  const auto stays = [&](const Cue& cue) { return std::ranges::binary_search(cuts_ms, cue.start_ms); };
  for (size_t i = 0; i < cues.size(); ++i) {
    Cue& cue = cues[i];
    int64_t lack_ms = std::min(lacks_ms(cue), style.max_ms - (cue.end_ms - cue.start_ms));
    if (lack_ms <= 0) continue;
    Cue* const before = i > 0 ? &cues[i - 1] : nullptr;
    if (!stays(cue)) {
      int64_t free_ms = before ? cue.start_ms - style.gap_ms - before->end_ms : cue.start_ms;
      if (before)
        free_ms += std::clamp<int64_t>(before->end_ms - before->lines.back().back().end_ms, 0,
                                       std::max<int64_t>(0, -lacks_ms(*before)));
      const int64_t earlier_ms = std::min({lack_ms, free_ms, reach_ms - (voice_ms(cue) - cue.start_ms)});
      if (earlier_ms > 0) {
        cue.start_ms -= earlier_ms;
        lack_ms -= earlier_ms;
        if (before) before->end_ms = std::min(before->end_ms, cue.start_ms - style.gap_ms);
      }
    }
    if (i + 1 == cues.size() || lack_ms <= 0) continue;
    Cue& next = cues[i + 1];
    if (stays(next) || next.start_ms - style.gap_ms > cue.end_ms) continue;
    const int64_t later_ms = std::min({lack_ms, -lacks_ms(next), reach_ms - (next.start_ms - voice_ms(next))});
    if (later_ms <= 0) continue;
    next.start_ms += later_ms;
    cue.end_ms += later_ms;
  }
}

void part_cues(std::span<Cue> cues, const SubtitleStyle& style, int64_t end_ms) {
  if (cues.empty()) return;
  int64_t moment_ms = std::min(kMomentMs, style.max_ms), gap_ms = style.gap_ms;
  const int64_t share_ms = end_ms / static_cast<int64_t>(cues.size());
  moment_ms = std::clamp(share_ms - gap_ms, int64_t{1}, moment_ms);
  gap_ms = std::clamp(share_ms - moment_ms, int64_t{0}, gap_ms);

  int64_t free_ms = 0;  // from here on
  for (size_t i = 0; i < cues.size(); ++i) {
    Cue& cue = cues[i];
    cue.start_ms = std::max(cue.start_ms, free_ms);
    cue.end_ms = std::clamp(cue.end_ms, cue.start_ms + moment_ms, cue.start_ms + style.max_ms);
    free_ms = cue.end_ms + gap_ms;
  }
  for (size_t i = cues.size(); i-- > 0;) {  // back from the end of the sound
    Cue& cue = cues[i];
    const int64_t limit_ms = i + 1 < cues.size() ? cues[i + 1].start_ms - gap_ms : end_ms;
    if (cue.end_ms <= limit_ms) break;
    cue.end_ms = std::max(limit_ms, moment_ms);
    cue.start_ms = std::max<int64_t>(0, std::min(cue.start_ms, cue.end_ms - moment_ms));
  }
  for (size_t i = 1; i < cues.size(); ++i) {  // more cues than milliseconds
    if (cues[i].start_ms >= cues[i - 1].end_ms) continue;
    cues[i].start_ms = cues[i - 1].end_ms;
    cues[i].end_ms = std::max(cues[i].end_ms, cues[i].start_ms + 1);
  }
}

}  // namespace sotto
