#include "src/cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/decode.h"
#include "models/near_words.h"
#include "src/cli/argument_parser.h"
#include "src/cli/subtitle_options.h"
#include "src/fallback.h"
#include "src/windows.h"

namespace sotto {

void ArgumentParser::settle() {
  const auto& files = arguments_.files;
  if (std::find(files.begin(), files.end(), "") != files.end())
    throw CLI::ValidationError("the name of a file is empty; '-' is standard input");
  settle_output();
  SamplingOptions& sampling = arguments_.transcribe.sampling;
  const double finished = std::nearbyint(sampling.patience * sampling.beam_size);
  if (finished < 1 || finished > kMaxFinished)
    throw CLI::ValidationError("--patience", "times the beam size it must give from 1 to " +
                                                 std::to_string(kMaxFinished) + " beams to wait for");
  check_subtitle_options(arguments_.subtitles);
  if (!redo_.empty()) settle_redo();
  WordOptions& words = arguments_.transcribe.words;
  const bool has_subtitles = std::any_of(arguments_.output.formats.begin(), arguments_.output.formats.end(), has_cues);
  const bool has_words_of_its_own = std::ranges::any_of(arguments_.output.formats, has_words);
  words.timestamps = words_wanted_.value_or(has_words_of_its_own || ((has_subtitles || arguments_.redo) &&
                                                                     needs_words(arguments_.subtitles)));
  if (words.hallucination_silence_threshold && !words.timestamps)
    throw CLI::ValidationError("--hallucination-silence-threshold", "it goes by words; add --word-timestamps True");
  const DecodeOptions& decoding = arguments_.decoding;
  if (decoding.end_s && *decoding.end_s <= decoding.start_s)
    throw CLI::ValidationError("--end", "it must be later than --start");
  const TranscribeOptions& transcribe = arguments_.transcribe;
  const auto& allowed = transcribe.languages;
  if (!transcribe.language.empty() && transcribe.language_per_segment)
    throw CLI::ValidationError("--language-per-segment", "it detects the language; leave --language out, or name those "
                                                         "to choose from by --languages");
  if (!transcribe.language.empty() && !allowed.empty() &&
      std::find(allowed.begin(), allowed.end(), transcribe.language) == allowed.end())
    throw CLI::ValidationError("--language", "'" + transcribe.language + "' is not among --languages");
  settle_running();
}

void ArgumentParser::settle_running() {
  SamplingOptions& sampling = arguments_.transcribe.sampling;
  sampling.temperatures = temperature_ladder(temperature_, increment_);
  const bool samples = sampling.temperatures.back() > 0;
  const bool beams = sampling.temperatures.front() == 0;
  arguments_.transcribe.mode = mode_ == "batched" ? Mode::batched : Mode::sequential;
  arguments_.network.slots = mode_ == "batched" ? batch_size_ : 1;
  arguments_.network.max_rows = std::max(beams ? sampling.beam_size : 1, samples ? sampling.best_of : 1);
  arguments_.fetch.quiet = arguments_.output.quiet;
}

// The stretch is all that is transcribed, and its file all that is written.
void ArgumentParser::settle_redo() {
  if (redo_.size() != 2 || arguments_.files.size() != 1)
    throw CLI::ValidationError("--redo", "it takes one stretch and one file of subtitles, and one file of sound");
  if (writes_files_ || !arguments_.output.formats.empty() || arguments_.transcribe.clip_timestamps.size() > 1)
    throw CLI::ValidationError("--redo", "it says by itself what to transcribe and which file to write");
  Stretch asked{};
  refuse_errors("--redo", [&] { asked = parse_stretch(redo_[0]); });
  arguments_.redo = read_redo(asked, redo_[1]);
  const Stretch& stretch = arguments_.redo->stretch;
  arguments_.transcribe.clip_timestamps = {static_cast<double>(stretch.start_ms) / 1000,
                                           static_cast<double>(stretch.end_ms) / 1000};
}

// A folder alone stands for every format, as in openai-whisper. Standard output takes one format, and more than one
// file only where transcripts can follow each other.
void ArgumentParser::settle_output() {
  OutputArguments& output = arguments_.output;
  if (output.folder != "-") {
    if (!writes_files_ && output.formats.empty() && !output.verbose && redo_.empty())
      arguments_.warnings.push_back("with --verbose False and no file to write nothing will come out; add -f srt or "
                                    "another format");
    if (writes_files_ && output.formats.empty()) output.formats = parse_formats("all");
    return;
  }
  if (output.formats.size() != 1)
    throw CLI::ValidationError("--output-dir", "standard output takes one format; choose it by --output-format");
  const bool joins = output.formats[0] == Format::jsonl || output.formats[0] == Format::txt;
  if (arguments_.files.size() > 1 && !joins)
    throw CLI::ValidationError("--output-dir", "only jsonl and txt of several files can follow each other on standard "
                                               "output");
}

// Names an option that isn't there as it was typed, and what may have been meant.
void ArgumentParser::refuse_unknown(const std::string& unknown, const std::vector<std::string>& written) const {
  std::string typed = unknown;
  for (const std::string& word : written)
    if (normalised({word}).front() == unknown) typed = word;
  const std::string name = unknown.substr(0, unknown.find('='));
  typed = typed.substr(0, typed.find('='));
  if (!name.starts_with("--"))
    throw CLI::ValidationError(typed + " is no option here; if it's a file, it goes after --, as in: -- " + typed);
  std::vector<std::string_view> known;
  for (const CLI::Option* option : app_.get_options())
    for (const std::string& long_name : option->get_lnames()) known.push_back(long_name);
  const auto near = near_words(name.substr(2), known);
  const std::string hint = near.empty() ? "" : "; did you mean --" + std::string(near[0]) + "?";
  throw CLI::ValidationError(typed + " is no option here" + hint);
}

std::optional<Arguments> ArgumentParser::parse(const std::vector<std::string>& written) {
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_.add_option("FILE", arguments_.files, "sound or video files; '-': standard input")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_model();
  add_output();
  add_what();
  add_words();
  add_subtitle_options(app_, arguments_.subtitles);
  app_.add_option("--redo", redo_, "only a stretch, whose subtitles are then put in the place of those in a file")
      ->type_name("START-END FILE")
      ->expected(2)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Subtitles");
  add_sound();
  add_sampling();
  add_thresholds();
  add_prompt();
  add_running();
  if (!read(written)) return std::nullopt;
  settle();
  return arguments_;
}

// The text is all there is to say, so what is recognised needs no beams, and no text before it in mind.
std::optional<Arguments> ArgumentParser::parse_align(const std::vector<std::string>& written) {
  app_.name("sotto align");
  app_.description("When each word of a text is spoken. The text: a transcript as plain text or JSON, or subtitles (SRT, "
                   "WebVTT, ASS, TTML, SBV, LRC, TSV, CSV), whose cues and lines stay. What isn't heard gets no time, and is "
                   "named, as is speech without a text.");
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  arguments_.files.resize(2);
  app_.add_option("AUDIO", arguments_.files[0], "a sound or video file")->required();
  app_.add_option("TEXT", arguments_.files[1], "the file with its text; '-': standard input")->required();
  arguments_.output.folder = "-";
  add_model();
  group_ = "Output";
  option("-o,--output", "FILE", "the file to write, in the format that its name says ('-': standard output)",
         [this](const std::string& name) {
           arguments_.output.folder = name;
           const std::string end = std::filesystem::path(name).extension().string();
           if (name != "-" && end.size() > 1) refuse_errors("--output", [&] { parse_formats(end.substr(1)); });
         });
  option("-f,--output-format", "NAME", "one of " + format_names() + " (the text's own, or srt)",
         [this](const std::string& name) {
           refuse_errors("--output-format", [&] { arguments_.output.formats = parse_formats(name); });
           if (arguments_.output.formats.size() != 1) refuse("--output-format", name, "one format");
         });
  app_.add_flag("--quiet", arguments_.output.quiet, "say only what goes wrong, and what wasn't heard")->group(group_);
  add_language();
  add_voice_activity();
  add_subtitle_options(app_, arguments_.subtitles);
  add_sound();
  add_running();
  arguments_.transcribe.sampling.beam_size = 1;
  if (!read(written)) return std::nullopt;
  check_subtitle_options(arguments_.subtitles);
  if (arguments_.transcribe.split_channels)
    throw CLI::ValidationError("--channels", "a text is aligned with one sound: choose mix, left, right or a number");
  settle_running();
  return arguments_;
}

bool ArgumentParser::read(const std::vector<std::string>& written) {
  std::vector<std::string> words = normalised(written);
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app_.parse(std::move(words));
    return true;
  } catch (const CLI::CallForHelp& help) {
    app_.exit(help);
    return false;
  } catch (const CLI::ParseError&) {
    const auto unknown = app_.remaining();  // the files seem to be missing, too, where a file's name begins with '-'
    if (unknown.empty()) throw;
    refuse_unknown(unknown.front(), written);
  }
}

std::optional<Arguments> parse_arguments(const std::vector<std::string>& written) {
  return ArgumentParser().parse(written);
}

std::optional<Arguments> parse_align_arguments(const std::vector<std::string>& written) {
  return ArgumentParser().parse_align(written);
}

}  // namespace sotto
