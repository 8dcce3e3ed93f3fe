#include "src/subtitles/style.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/error.h"

namespace sotto {
namespace {

constexpr double kShortestS = 5.0 / 6;  // 20 frames of a film

// Sources: Netflix, Timed Text Style Guide; BBC, Subtitle Guidelines (160 to 180 words a minute; pauses below a second
// are closed; 37 characters, as teletext has). "social" are the few big words at once of short upright videos. "plain" cues
// are segments; longer ones are parted.
struct Preset {
  std::string_view name;
  int columns, lines, words_per_line;  // 0: any number
  double reading_speed, min_s, max_s, fps, gap_frames, close_gap_s;
  bool by_segment = false;
};
constexpr Preset kPresets[] = {
    {"broadcast", 42, 2, 0, 17, kShortestS, 7, 25, 2, 0.5},
    {"netflix", 42, 2, 0, 20, kShortestS, 7, 24, 2, 0.5},
    {"bbc", 37, 2, 0, 16, kShortestS, 7, 25, 2, 1},
    {"social", 24, 1, 5, 25, 0.4, 3, 30, 0, 0.5},
    {"plain", 42, 2, 0, 17, kShortestS, 7, 25, 2, 0, true},
    {"whisper", 1000, 1000, 0, 1000, 0, 1e6, 25, 0, 0},
};

// Netflix's figures for subtitles that hold every word spoken. Columns are for lines of 42.
struct Script {
  std::string_view language;
  int columns;
  double reading_speed;
};
constexpr Script kScripts[] = {
    {"zh", 32, 11}, {"yue", 32, 11}, {"ja", 26, 7}, {"ko", 32, 14},
};

void require(bool holds, const char* sentence) {
  if (!holds) throw Error(sentence);
}

bool fills_lines(const SubtitleOptions& options) { return options.columns || options.lines || options.words_per_line; }

int64_t to_ms(double seconds) { return std::llrint(std::ceil(seconds * 1000 - 1e-6)); }

}  // namespace

SubtitleStyle resolve(const SubtitleOptions& options, std::string_view language) {
  const std::string_view preferred = is_whisper(options) ? "whisper" : "broadcast";
  const std::string_view name = options.style.empty() ? preferred : options.style;
  const auto preset = std::ranges::find(kPresets, name, &Preset::name);
  if (preset == std::end(kPresets))
    throw Error("there is no style \"" + options.style + "\": choose from broadcast, netflix, bbc, social, plain and whisper");
  int columns = preset->columns;
  double reading_speed = preset->reading_speed;
  const auto script = std::ranges::find(kScripts, language, &Script::language);
  if (script != std::end(kScripts) && !is_whisper(options)) {
    columns = columns * script->columns / 42;
    reading_speed = script->reading_speed * std::max(1.0, reading_speed / 20);
  }
  const double fps = options.fps.value_or(preset->fps), frame_ms = 1000 / fps;
  const double min_s = options.min_s.value_or(preset->min_s), max_s = options.max_s.value_or(preset->max_s);
  const SubtitleStyle style = {
      .columns = options.columns.value_or(columns),
      .lines = options.lines.value_or(preset->lines),
      .words_per_line = options.words_per_line.value_or(preset->words_per_line),
      .reading_speed = options.reading_speed.value_or(reading_speed),
      .min_ms = to_ms(min_s),
      .max_ms = static_cast<int64_t>(max_s * 1000),
      .frame_ms = frame_ms,
      .gap_ms = to_ms(options.gap_frames.value_or(preset->gap_frames) / fps),
      .close_gap_ms = to_ms(options.close_gap_s.value_or(preset->close_gap_s)),
      .by_segment = preset->by_segment,
  };
  const int narrowest = is_whisper(options) ? 1 : 2;  // 1: there a word wider than the line has one to itself
  require(style.columns >= narrowest && style.columns <= 1000, "a line of subtitles has from 2 to 1000 columns");
  require(style.lines >= 1 && style.lines <= 1000, "a subtitle has from 1 to 1000 lines");
  require(style.reading_speed > 0, "the reading speed must be above 0 characters a second");
  require(fps >= 1 && fps <= 1000, "a video has from 1 to 1000 frames a second");
  require(style.max_ms >= 100, "a subtitle must be allowed to stay for 0.1 s or more");
  require(min_s <= max_s, "the shortest time that a subtitle stays can't be longer than the longest");
  return style;
}

bool is_whisper(const SubtitleOptions& options) {
  return options.style.empty() ? fills_lines(options) || options.highlight_words : options.style == "whisper";
}

bool needs_words(const SubtitleOptions& options) {
  return !is_whisper(options) || fills_lines(options) || options.highlight_words || options.karaoke;
}

}  // namespace sotto
