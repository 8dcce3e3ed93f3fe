#include "src/cli/subtitles_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "models/error.h"
#include "models/languages.h"
#include "src/cli/arguments.h"
#include "src/cli/subtitle_options.h"
#include "src/subtitles/layout.h"
#include "src/subtitles/read_transcript.h"
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
    if (!arguments.language.empty()) transcript.language = language_code(arguments.language);
    const bool timed = std::ranges::any_of(transcript.segments, [](const Segment& s) { return !s.words.empty(); });
    if (!timed && !transcript.segments.empty() && needs_words(arguments.subtitles) && !arguments.quiet)
      std::fprintf(stderr, "sotto: warning: %s has no times of words, so they are guessed; --word-timestamps True "
                   "writes them\n", path.c_str());
    std::vector<Cue> cues = lay_out(transcript, arguments.subtitles);
    if (arguments.subtitles.highlight_words) cues = with_each_word_marked(cues);
    const std::string name = names.next(transcripts.size() == 1 || transcript.audio.empty() ? path : transcript.audio);
    for (const Format format : formats) {
      const std::string content = render(transcript, cues, format);
      if (arguments.folder == "-") {
        print(content);
        continue;
      }
      const auto target = std::filesystem::path(arguments.folder) / (name + "." + std::string(extension(format)));
      write_file(target.lexically_normal().string(), content);
      if (!arguments.quiet) std::fprintf(stderr, "wrote %s\n", target.lexically_normal().c_str());
    }
  }
}

}  // namespace

int subtitles_command(const std::vector<std::string>& words) {
  SubtitlesArguments arguments;
  CLI::App app("Subtitles from transcripts that were written as json or jsonl, in any layout and without transcribing again.",
               "sotto subtitles");
  app.add_option("FILE", arguments.files, "transcripts in JSON, with the times of words; '-': standard input")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-o,--output-dir", arguments.folder, "write files here ('-': to standard output)")->type_name("FOLDER");
  app.add_option("-f,--output-format", arguments.format_list, "srt, vtt, txt, tsv (srt)")->type_name("LIST");
  app.add_option("--language", arguments.language, "of the text, if the transcript doesn't say")->type_name("LANGUAGE");
  app.add_flag("--quiet", arguments.quiet, "nothing on standard error but what goes wrong");
  add_subtitle_options(app, arguments.subtitles);
  if (!parse(app, words)) return 0;
  check_subtitle_options(arguments.subtitles);
  const std::vector<Format> formats = parse_formats(arguments.format_list);
  if (std::ranges::any_of(formats, [](Format f) { return f == Format::json || f == Format::jsonl; }))
    throw Error("a transcript in JSON is what 'sotto subtitles' starts from; choose another format");
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
