#include "src/cli/subtitle_options.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "models/error.h"

namespace sotto {
namespace {

std::optional<double> number_of(const std::string& option, const std::string& written, const std::string& wanted) {
  if (written == "None" || written == "none") return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(written.c_str(), &end);
  const bool whole = wanted.starts_with("a whole number");
  if (end == written.c_str() || *end || !(value >= 0 && value <= 1e6) || (whole && value != std::floor(value)))
    throw CLI::ValidationError(option, "'" + written + "' is not " + wanted);
  return value;
}

}  // namespace

void add_subtitle_options(CLI::App& app, SubtitleOptions& options) {
  const std::string group = "Subtitles";
  const auto text = [&](const char* name, const char* value, const char* help, std::string& target) {
    app.add_option(name, target, help)->type_name(value)->group(group);
  };
  const auto count = [&](const char* name, const char* help, std::optional<int>& target) {
    app.add_option_function<std::string>(name, [name, &target](const std::string& written) {
         const auto value = number_of(name, written, "a whole number from 1 on, or None");
         if (value && *value < 1) throw CLI::ValidationError(name, "it must be 1 or more");
         target = value ? std::optional(static_cast<int>(*value)) : std::nullopt;
       }, help)->type_name("N")->group(group);
  };
  const auto number = [&](const char* name, const char* value, const char* help, std::optional<double>& target) {
    app.add_option_function<std::string>(name, [name, &target](const std::string& written) {
         target = number_of(name, written, "a number from 0 on, or None");
       }, help)->type_name(value)->group(group);
  };
  text("--style", "NAME",
       "layout of cues: broadcast, netflix, bbc, social; plain: a cue for each segment, parted where it's too long; whisper: "
       "openai-whisper's, whatever their length (broadcast; whisper where one of the next four is given)",
       options.style);
  count("--max-line-width", "columns of a line; a full-width character takes two", options.columns);
  count("--max-line-count", "lines of a cue", options.lines);
  count("--max-words-per-line", "words of a line", options.words_per_line);
  app.add_flag("--highlight-words{true}", options.highlight_words, "underline each word as it is spoken (False)")
      ->group(group)
      ->type_name("True|False");
  app.add_flag("--karaoke{true}", options.karaoke, "each word with its own time, in vtt, ass, lrc and ttml (False)")
      ->group(group)
      ->type_name("True|False");
  number("--reading-speed", "NUMBER", "characters a second that can be read (broadcast 17, netflix 20)",
         options.reading_speed);
  number("--min-duration", "SECONDS", "a cue stays at least (5/6)", options.min_s);
  number("--max-duration", "SECONDS", "a cue stays at most (7)", options.max_s);
  number("--fps", "NUMBER", "frames a second of the video (broadcast 25, netflix 24)", options.fps);
  number("--min-gap", "FRAMES", "between two cues (2)", options.gap_frames);
  number("--close-gaps", "SECONDS", "cues stay over pauses shorter than this (0.5)", options.close_gap_s);
  text("--shots", "FILE|auto", "times of cuts of the picture, one a line, to end cues at; auto: found in the video",
       options.shots);
}

void check_subtitle_options(const SubtitleOptions& options) {
  try {
    resolve(options, "en");
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

}  // namespace sotto
