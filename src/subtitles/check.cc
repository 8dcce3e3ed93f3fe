#include "src/subtitles/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "models/utf8.h"
#include "src/subtitles/break_rules.h"
#include "src/subtitles/columns.h"

namespace sotto {
namespace {

template <typename... Values>
std::string phrase(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

constexpr double kNearCutFrames = 12;  // half a second of film

double seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

class Checker {
 public:
  Checker(const CueFile& file, const SubtitleStyle& style, std::string_view language, int64_t duration_ms,
          std::span<const int64_t> cuts_ms)
      : file_(file), style_(style), language_(language), duration_ms_(duration_ms),
        cuts_ms_(cuts_ms) {}

  std::vector<Breach> run() {
    for (const BadLine& bad : file_.bad_lines) hard(bad.line, bad.what);
    for (size_t i = 0; i < file_.cues.size(); ++i) {
      const FileCue& cue = file_.cues[i];
      check_times(cue, i > 0 ? &file_.cues[i - 1] : nullptr);
      check_text(cue);
      if (file_.format == CueFormat::srt && cue.name != std::to_string(i + 1))
        soft(cue.line, cue.name.empty() ? "the number is missing"
                                        : "the number is " + cue.name + ", not " + std::to_string(i + 1));
    }
    std::ranges::stable_sort(breaches_, {}, &Breach::line);
    return std::move(breaches_);
  }

 private:
  void hard(int line, std::string what) { breaches_.push_back({line, true, std::move(what)}); }
  void soft(int line, std::string what) { breaches_.push_back({line, false, std::move(what)}); }

  void check_times(const FileCue& cue, const FileCue* before) {
    const int64_t shown_ms = cue.end_ms - cue.start_ms;
    if (shown_ms <= 0) hard(cue.line, "it ends before it begins");
    if (shown_ms > style_.max_ms)
      hard(cue.line, phrase("it stays for %.3f s, %.3f s at most", seconds(shown_ms), seconds(style_.max_ms)));
    else if (shown_ms > 0 && shown_ms < style_.min_ms)
      soft(cue.line, phrase("it stays for %.3f s, %.3f s at least", seconds(shown_ms), seconds(style_.min_ms)));
    if (duration_ms_ > 0 && cue.end_ms > duration_ms_)
      hard(cue.line, phrase("it ends %.3f s behind the end of the sound", seconds(cue.end_ms - duration_ms_)));
    const auto margin_ms = static_cast<int64_t>(kNearCutFrames * style_.frame_ms);
    const auto cut = std::ranges::upper_bound(cuts_ms_, cue.start_ms + margin_ms);
    if (cut != cuts_ms_.end() && *cut < cue.end_ms - margin_ms)
      soft(cue.line, phrase("the picture changes at %.3f s while it stays", seconds(*cut)));
    if (!before) return;
    const int64_t gap_ms = cue.start_ms - before->end_ms;
    if (cue.start_ms < before->start_ms)
      hard(cue.line, "it begins before the cue above it");
    else if (gap_ms < 0)
      hard(cue.line, phrase("it begins %.3f s before the cue above it ends", seconds(-gap_ms)));
    else if (file_.format != CueFormat::lrc && gap_ms + step_ms(file_.format) <= style_.gap_ms)
      hard(cue.line, phrase("the gap before it is %.3f s, %.3f s at least", seconds(gap_ms), seconds(style_.gap_ms)));
  }

  void check_text(const FileCue& cue) {
    int characters = 0, n_lines = 0;
    std::vector<int> widths;
    for (size_t i = 0; i < cue.text.size(); ++i) {
      const int line = line_of_text(file_, cue, i);
      const std::string text(strip(shown(cue.text[i], file_.format)));
      if (text.empty()) {
        hard(line, "a blank line within a cue, at which players end it");
        continue;
      }
      const TextSize size = size_of(valid_utf8(text));
      characters += size.graphemes + (n_lines++ > 0);
      widths.push_back(size.columns);
      if (size.columns > style_.columns) hard(line, phrase("%d columns, %d at most", size.columns, style_.columns));
      const bool last = i + 1 == cue.text.size() && &cue == &file_.cues.back();
      if (!last && leans_on_next(text)) soft(line, "the last word belongs to the next line");
    }
    if (n_lines == 0) hard(cue.line, "it has no text");
    if (n_lines > style_.lines) hard(cue.line, phrase("%d lines, %d at most", n_lines, style_.lines));
    if (n_lines == 2 && 2 * std::min(widths[0], widths[1]) < std::max(widths[0], widths[1]))
      soft(cue.line, phrase("lines of %d and %d columns", widths[0], widths[1]));
    const double speed = characters / seconds(std::max<int64_t>(1, cue.end_ms - cue.start_ms));
    if (speed > style_.reading_speed)
      soft(cue.line, phrase("%.1f characters a second, %g at most", speed, style_.reading_speed));
  }

  bool leans_on_next(std::string_view text) const {
    std::string_view word = text.substr(text.find_last_of(' ') + 1);
    std::string lower;
    for (const char c : word) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    const BreakWord kind = break_word(language_, lower);
    return kind == BreakWord::binder || kind == BreakWord::preposition || kind == BreakWord::title;
  }

  const CueFile& file_;
  const SubtitleStyle& style_;
  const std::string_view language_;
  const int64_t duration_ms_;
  const std::span<const int64_t> cuts_ms_;
  std::vector<Breach> breaches_;
};

}  // namespace

std::vector<Breach> check_cues(const CueFile& file, const SubtitleStyle& style, std::string_view language,
                               int64_t duration_ms, std::span<const int64_t> cuts_ms) {
  return Checker(file, style, language, duration_ms, cuts_ms).run();
}

}  // namespace sotto
