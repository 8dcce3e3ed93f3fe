#include "src/cli/subtitles_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "models/error.h"
#include "models/languages.h"
#include "src/cli/argument_values.h"
#include "src/cli/subtitle_options.h"
#include "src/subtitles/check.h"
#include "src/subtitles/layout.h"
#include "src/subtitles/read_transcript.h"
#include "src/subtitles/read_text_file.h"
#include "src/subtitles/retime.h"
#include "src/subtitles/shots.h"
#include "src/writers.h"

namespace sotto {
namespace {

// Parses words as arguments.cc brings them to one form. False: help was asked for, and printed.
bool parse(CLI::App& app, const std::vector<std::string>& written) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  std::vector<std::string> words = normalised(written);
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(std::move(words));
    return true;
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return false;
  }
}

constexpr size_t kMostTold = 20;  // lines that can't be read

// Whether a file's name ends as those of another format do.
bool is_called_otherwise(std::string_view end, CueFormat format) {
  for (const CueFormat other : {CueFormat::srt, CueFormat::vtt, CueFormat::ass, CueFormat::ttml, CueFormat::sbv,
                                CueFormat::lrc, CueFormat::tsv, CueFormat::csv})
    if (other != format && end.size() > 1 && end.substr(1) == extension_of(other)) return true;
  return false;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

struct SubtitlesArguments {
  std::vector<std::string> files;
  std::string folder = ".", format_list = "srt", language;
  SubtitleOptions subtitles;
  bool quiet = false;
};

void lay_out_file(const SubtitlesArguments& arguments, const std::vector<Format>& formats, const std::string& path,
                  OutputNames& names) {
  std::vector<Transcript> transcripts = read_transcripts(path);
  for (Transcript& transcript : transcripts) {
    if (!arguments.language.empty()) transcript.language = arguments.language;
    const bool timed = std::ranges::any_of(transcript.segments, [](const Segment& s) { return !s.words.empty(); });
    if (!timed && !transcript.segments.empty() && needs_words(arguments.subtitles) && !arguments.quiet)
      std::fprintf(stderr, "sotto: warning: %s has no times of words, so they are guessed; --word-timestamps True "
                   "writes them\n", input_name(path).c_str());
    const std::string& shots = arguments.subtitles.shots;
    std::vector<int64_t> cuts_ms;
    if (!shots.empty()) cuts_ms = shots == "auto" ? find_cuts_ms(transcript.audio, false) : read_cuts_ms(shots);
    std::vector<Cue> cues = lay_out(transcript, arguments.subtitles, cuts_ms);
    if (arguments.subtitles.highlight_words) cues = with_each_word_marked(cues);
    const std::string name = names.next(transcripts.size() == 1 || transcript.audio.empty() ? path : transcript.audio);
    for (const Format format : formats) {
      const std::string content = render(transcript, cues, format, arguments.subtitles.karaoke);
      if (arguments.folder == "-") {
        print(content);
        continue;
      }
      const auto target = std::filesystem::path(arguments.folder) / (name + "." + std::string(extension(format)));
      refuse_to_overwrite(target.string(), arguments.files);
      write_file(target.lexically_normal().string(), content);
      if (!arguments.quiet) std::fprintf(stderr, "wrote %s\n", target.lexically_normal().c_str());
    }
  }
}

struct CheckArguments {
  std::vector<std::string> files;
  std::string language = "en";
  int64_t duration_ms = 0;
  std::vector<int64_t> cuts_ms;
  SubtitleOptions subtitles;
  bool quiet = false;
};

// Gives whether a hard rule is broken.
bool check_file(const CheckArguments& arguments, const std::string& path) {
  const std::string& language = arguments.language;
  const CueFile file = read_cue_file(path);
  const std::string name = input_name(path);
  int n_hard = 0, n_soft = 0;
  for (const Breach& breach : check_cues(file, resolve(arguments.subtitles, language), language, arguments.duration_ms,
                                         arguments.cuts_ms)) {
    (breach.hard ? n_hard : n_soft)++;
    print(name + ":" + std::to_string(breach.line) + ": " + (breach.hard ? "error: " : "warning: ") + breach.what + "\n");
  }
  if (!arguments.quiet)
    std::fprintf(stderr, "%s: %zu cues, %d errors, %d warnings\n", name.c_str(), file.cues.size(), n_hard, n_soft);
  return n_hard > 0;
}

Anchor anchor_of(const std::string& written) {
  const size_t equals = written.find('=');
  if (equals == written.npos)
    throw CLI::ValidationError("--anchor", "'" + written + "' is not two times, as in 00:01:05=00:01:07.5");
  Anchor anchor{};
  refuse_errors("--anchor", [&] {
    anchor = {time_ms(written.substr(0, equals), "--anchor"), time_ms(written.substr(equals + 1), "--anchor")};
  });
  return anchor;
}

// By "25:23.976": what was made for 25 frames a second is shown at 23.976.
TimeMap map_for_frame_rates(const std::string& written) {
  double from = 0, to = 0;
  char more = 0;
  if (std::sscanf(written.c_str(), "%lf:%lf%c", &from, &to, &more) != 2 || !(from >= 1) || !(to >= 1))
    throw CLI::ValidationError("--fps", "'" + written + "' is not two frame rates, as in 25:23.976");
  return {from / to, 0};
}

}  // namespace

int check_command(const std::vector<std::string>& words) {
  CheckArguments arguments;
  std::string duration;
  CLI::App app("What breaks a style's rules in subtitles, with line numbers. Ends with 1 if there are errors; what is only "
               "hard to read is a warning.", "sotto check");
  app.add_option("FILE", arguments.files, "subtitles: SRT, WebVTT, ASS, TTML, SBV, LRC, TSV or CSV; '-': standard input")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--language", arguments.language, "of the text (en)")->type_name("LANGUAGE");
  app.add_option("--duration", duration, "of the sound: no cue may end after it")->type_name("TIME");
  app.add_flag("--quiet", arguments.quiet, "no counts on standard error");
  add_subtitle_options(app, arguments.subtitles);
  if (!parse(app, words)) return 0;
  if (arguments.subtitles.style.empty()) arguments.subtitles.style = "broadcast";
  check_subtitle_options(arguments.subtitles);
  refuse_errors("--language", [&] { arguments.language = language_code(arguments.language); });
  if (!duration.empty()) refuse_errors("--duration", [&] { arguments.duration_ms = time_ms(duration, "--duration"); });
  if (arguments.subtitles.shots == "auto")
    throw CLI::ValidationError("--shots", "there is no picture to look for cuts in; name a file of times");
  if (!arguments.subtitles.shots.empty()) arguments.cuts_ms = read_cuts_ms(arguments.subtitles.shots);
  int status = 0;
  for (const std::string& path : arguments.files) {
    try {
      status = std::max<int>(status, check_file(arguments, path));
    } catch (const Error& error) {
      std::fprintf(stderr, "sotto: %s\n", error.what());
      status = 1;
    }
  }
  return status;
}

int retime_command(const std::vector<std::string>& words) {
  std::string path, target = "-", shift, rates;
  std::vector<std::string> anchors;
  CLI::App app("Moves subtitles in time, in the format that they have: new time = old time, stretched, then shifted.",
               "sotto retime");
  app.add_option("FILE", path, "subtitles: SRT, WebVTT, ASS, TTML, SBV, LRC, TSV or CSV; '-': standard input")->required();
  app.add_option("-o,--output", target, "the file to write, which may be the same ('-': standard output)")->type_name("FILE");
  app.add_option("--shift", shift, "seconds or a time; -1.5: earlier")->type_name("TIME");
  app.add_option("--anchor", anchors, "what was at one time belongs at another; twice: stretched between the two")
      ->type_name("OLD=NEW")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--fps", rates, "from the frame rate that they were made for to the video's: 25:23.976")->type_name("FROM:TO");
  if (!parse(app, words)) return 0;
  if (anchors.size() > 2) throw CLI::ValidationError("--anchor", "two are enough to know all times");
  if (anchors.empty() ? shift.empty() && rates.empty() : !shift.empty() || !rates.empty())
    throw CLI::ValidationError("say how: --shift and --fps, or one or two of --anchor");
  TimeMap map = rates.empty() ? TimeMap{} : map_for_frame_rates(rates);
  if (!shift.empty()) refuse_errors("--shift", [&] { map.shift_ms = static_cast<double>(time_ms(shift, "--shift")); });
  std::vector<Anchor> points;
  for (const std::string& written : anchors) points.push_back(anchor_of(written));
  if (!points.empty()) refuse_errors("--anchor", [&] { map = through(points); });

  CueFile file = read_cue_file(path);
  const std::string name = input_name(path);
  const std::string end = std::filesystem::path(target).extension().string();
  if (target != "-" && is_called_otherwise(end, file.format))
    throw Error(name + " is " + std::string(name_of(file.format)) + " and " + target + " is called otherwise; its format "
                "stays, so give it a name that ends in ." + std::string(extension_of(file.format)));
  size_t n_told = 0;
  for (const BadLine& bad : file.bad_lines)
    if (++n_told <= kMostTold)
      std::fprintf(stderr, "sotto: warning: %s:%d: %s\n", name.c_str(), bad.line, bad.what.c_str());
  if (n_told > kMostTold) std::fprintf(stderr, "... and %zu more lines\n", n_told - kMostTold);
  const size_t n_cues = file.cues.size();
  const int lost = retime(file, map);
  if (file.cues.empty())
    throw Error("all " + std::to_string(n_cues) + " cues of " + name + " would end before the beginning; nothing is written");
  if (lost > 0)
    std::fprintf(stderr, "sotto: warning: %d of %zu cues would end before the beginning and are left out\n", lost, n_cues);
  const std::string content = write_cue_file(file, map);
  if (target == "-")
    print(content);
  else
    write_file(target, content);
  return 0;
}

int subtitles_command(const std::vector<std::string>& words) {
  SubtitlesArguments arguments;
  CLI::App app("Subtitles from transcripts that were written as json or jsonl, in any layout and without transcribing again.",
               "sotto subtitles");
  app.add_option("FILE", arguments.files, "transcripts in JSON, with the times of words; '-': standard input")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-o,--output-dir", arguments.folder, "write files here ('-': to standard output)")->type_name("FOLDER");
  app.add_option("-f,--output-format", arguments.format_list, "any format of sotto transcribe, but json (srt)")
      ->type_name("LIST");
  app.add_option("--language", arguments.language, "of the text, if the transcript doesn't say")->type_name("LANGUAGE");
  app.add_flag("--quiet", arguments.quiet, "nothing on standard error but what goes wrong");
  add_subtitle_options(app, arguments.subtitles);
  if (!parse(app, words)) return 0;
  check_subtitle_options(arguments.subtitles);
  std::vector<Format> formats;
  refuse_errors("--output-format", [&] { formats = parse_formats(arguments.format_list); });
  refuse_errors("--language", [&] {
    if (!arguments.language.empty()) arguments.language = language_code(arguments.language);
  });
  if (std::ranges::any_of(formats, [](Format f) { return f == Format::json || f == Format::jsonl; }))
    throw CLI::ValidationError("--output-format", "a transcript in JSON is what it starts from; choose another");
  OutputNames names;
  int status = 0;
  for (const std::string& path : arguments.files) {
    try {
      lay_out_file(arguments, formats, path, names);
    } catch (const Error& error) {
      std::fprintf(stderr, "sotto: %s\n", error.what());
      status = 1;
    }
  }
  return status;
}

}  // namespace sotto
