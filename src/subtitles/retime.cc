#include "src/subtitles/retime.h"

#include <algorithm>
#include <cmath>

#include "models/error.h"

namespace sotto {

int64_t TimeMap::operator()(int64_t ms) const {
  return std::max<int64_t>(0, std::llrint(factor * static_cast<double>(ms) + shift_ms));
}

TimeMap through(std::span<const Anchor> anchors) {
  const Anchor first = anchors.front(), last = anchors.back();
  if (anchors.size() == 1) return {1, static_cast<double>(first.to_ms - first.from_ms)};
  const auto before = static_cast<double>(last.from_ms - first.from_ms), after = static_cast<double>(last.to_ms - first.to_ms);
  if (before == 0 || after / before <= 0) throw Error("two anchors must be two times, in the same order before and after");
  return {after / before, static_cast<double>(first.to_ms) - after / before * static_cast<double>(first.from_ms)};
}

int retime(CueFile& file, const TimeMap& map) {
  for (FileCue& cue : file.cues) {
    cue.start_ms = map(cue.start_ms);
    cue.end_ms = map(cue.end_ms);
  }
  return erase_cues(file, [](const FileCue& cue) { return cue.end_ms == 0; });
}

Stretch widened(const CueFile& file, Stretch stretch) {
  Stretch wide = stretch;
  for (const FileCue& cue : file.cues) {
    if (cue.end_ms <= stretch.start_ms || cue.start_ms >= stretch.end_ms) continue;
    wide.start_ms = std::min(wide.start_ms, cue.start_ms);
    wide.end_ms = std::max(wide.end_ms, cue.end_ms);
  }
  return wide;
}

void splice(CueFile& file, Stretch stretch, std::span<const FileCue> added, int64_t gap_ms) {
  const auto within = [&](const FileCue& cue) { return cue.start_ms >= stretch.start_ms && cue.start_ms < stretch.end_ms; };
  size_t n_notes = 0;
  for (const FileCue& cue : file.cues) n_notes += within(cue) ? cue.before.size() : 0;
  erase_cues(file, within);
  auto next = std::ranges::find_if(file.cues, [&](const FileCue& cue) { return cue.start_ms >= stretch.end_ms; });
  const int64_t from_ms = next == file.cues.begin() ? 0 : next[-1].end_ms + gap_ms;
  const int64_t until_ms = next == file.cues.end() ? INT64_MAX : next->start_ms - gap_ms;
  std::vector<FileCue> fitting;
  for (FileCue cue : added) {
    cue.start_ms = std::max(cue.start_ms, from_ms);
    cue.end_ms = std::min(cue.end_ms, until_ms);
    if (cue.start_ms < cue.end_ms) fitting.push_back(std::move(cue));
  }
  std::vector<std::string>& place = next != file.cues.end() ? next->before : file.after;
  const auto notes_end = place.begin() + static_cast<std::ptrdiff_t>(std::min(n_notes, place.size()));
  if (!fitting.empty()) {
    fitting.front().before.assign(place.begin(), notes_end);
    place.erase(place.begin(), notes_end);
  }
  file.cues.insert(next, fitting.begin(), fitting.end());
}

}  // namespace sotto
