#include "src/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/decode.h"
#include "models/error.h"
#include "models/languages.h"
#include "models/near_words.h"
#include "src/cli/subtitle_options.h"
#include "src/fallback.h"
#include "src/suppress.h"
#include "src/windows.h"

namespace sotto {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<std::string> kYesNoOptions = {"--fp16", "--verbose", "--condition-on-previous-text",
                                                "--carry-initial-prompt", "--vad", "--word-timestamps",
                                                "--highlight-words", "--karaoke", "--language-per-segment"};

std::optional<bool> yes_or_no(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0" || word == "none") return false;
  return std::nullopt;
}

bool is_none(const std::string& word) { return word == "None" || word == "none"; }

[[noreturn]] void refuse(const std::string& option, const std::string& written, const std::string& wanted) {
  throw CLI::ValidationError(option, "'" + written + "' is not " + wanted);
}

// Runs what throws Error for a value that can't be.
void refuse_errors(const std::string& option, const std::function<void()>& take_value) {
  try {
    take_value();
  } catch (const Error& error) {
    throw CLI::ValidationError(option, error.what());
  }
}

double number(const std::string& option, const std::string& written, double low, double high,
              const std::string& wanted) {
  char* end = nullptr;
  const double value = std::strtod(written.c_str(), &end);
  if (end == written.c_str() || *end || !(value >= low && value <= high)) refuse(option, written, wanted);
  return value;
}

int64_t whole_number(const std::string& option, const std::string& written, double low, double high,
                     const std::string& wanted) {
  const double value = number(option, written, low, high, wanted);
  if (value != std::floor(value)) refuse(option, written, wanted);
  return static_cast<int64_t>(value);
}

std::vector<std::string> split(const std::string& written, char separator) {
  std::vector<std::string> parts;
  for (std::string::size_type begin = 0; begin <= written.size();) {
    const auto end = std::min(written.find(separator, begin), written.size());
    parts.push_back(written.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Seconds of "90", "90.5", "1:30" or "1:01:30".
double time(const std::string& option, const std::string& written, const std::string& wanted) {
  const std::vector<std::string> parts = split(written, ':');
  double seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool whole = i + 1 < parts.size();
    const bool digits = !parts[i].empty() && std::isdigit(static_cast<unsigned char>(parts[i][0]));
    if (parts.size() > 3 || !digits || (whole && parts[i].find_first_not_of("0123456789") != std::string::npos))
      refuse(option, written, wanted);
    const double value = number(option, parts[i], 0, i == 0 ? 1e9 : 60, wanted);
    if (i > 0 && value == 60) refuse(option, written, wanted);
    seconds = seconds * 60 + value;
  }
  return seconds;
}

constexpr const char* kTime = "a time in seconds or as [hh:]mm:ss, from 0 on";

// The parser, and what it can't put into Arguments before everything was read.
class Parser {
 public:
  std::optional<Arguments> parse(const std::vector<std::string>& written);
  std::optional<Arguments> parse_align(const std::vector<std::string>& written);

 private:
  bool read(const std::vector<std::string>& written);  // false: help was asked for
  void add_language();
  void add_model();
  void add_output();
  void add_what();
  void add_voice_activity();
  void add_words();
  void add_sound();
  void add_sampling();
  void add_thresholds();
  void add_prompt();
  void add_running();
  void take_channels(const std::string& written);
  void take_device(const std::string& written);
  [[noreturn]] void refuse_unknown(const std::string& unknown, const std::vector<std::string>& written) const;
  void settle();
  void settle_output();
  void settle_redo();
  void settle_running();

  // An option whose value is handed to `set` as it was written.
  CLI::Option* option(const std::string& names, const std::string& value, const std::string& help,
                      const std::function<void(const std::string&)>& set) {
    return app_.add_option_function<std::string>(names, set, help)->type_name(value)->group(group_);
  }
  // One that is on or off, and is on when it has no value.
  void yes_no(const std::string& name, const std::string& help, bool& target) {
    option(name, "True|False", help, [name, &target](const std::string& written) {
      const auto value = yes_or_no(written);
      if (!value) refuse(name, written, "True or False");
      target = *value;
    });
  }
  // One of some words.
  CLI::Option* one_of(const std::string& name, const std::vector<std::string>& words, const std::string& help,
                      std::string& target) {
    const std::string all = CLI::detail::join(words, "|");
    return option(name, all, help, [=, &target](const std::string& written) {
      if (std::find(words.begin(), words.end(), written) == words.end()) refuse(name, written, "one of " + all);
      target = written;
    });
  }
  // A number, or None.
  void threshold(const std::string& name, double low, double high, const std::string& wanted, const std::string& help,
                 std::optional<double>& target) {
    option(name, "NUMBER", help, [=, &target](const std::string& written) {
      target = is_none(written) ? std::nullopt : std::optional(number(name, written, low, high, wanted + ", or None"));
    });
  }

  CLI::App app_{"Turns the speech in sound and video files into text with times.", "sotto transcribe"};
  std::string group_;
  Arguments arguments_;
  double temperature_ = 0;
  std::optional<double> increment_ = 0.2;
  bool writes_files_ = false;
  std::string mode_ = "sequential";
  int batch_size_ = 0;  // as many as fit
  std::optional<bool> words_wanted_;
  std::vector<std::string> redo_;
  bool fp16_ = true;  // likewise
};

void Parser::add_model() {
  group_ = "Model";
  option("-m,--model", "NAME", "name, file or folder of a model; 'sotto models list' shows the names (base)",
         [this](const std::string& written) { arguments_.model = written; });
  option("--model-dir", "FOLDER", "where models are kept ($SOTTO_HOME/models or ~/.cache/sotto/models)",
         [this](const std::string& written) { arguments_.fetch.model_dir = written; });
  app_.add_flag("--offline", arguments_.fetch.offline, "never download anything")->group(group_);
}

void Parser::add_output() {
  group_ = "Output";
  option("-o,--output-dir", "FOLDER", "write files here ('-': to standard output); without -f in every format",
         [this](const std::string& written) {
           arguments_.output.folder = written;
           writes_files_ = true;
         });
  option("-f,--output-format", "LIST",
         "write " + format_names() + ", or all: openai-whisper's five; without -o into the current folder",
         [this](const std::string& written) {
           refuse_errors("--output-format", [&] { arguments_.output.formats = parse_formats(written); });
         })
      ->join(',');
  yes_no("--verbose", "print segments as they come (True)", arguments_.output.verbose);
  app_.add_flag("--coverage", arguments_.output.coverage,
                "say what became of each stretch: transcribed, silence, skipped, low_confidence or failed")
      ->group(group_);
  app_.add_flag("--quiet", arguments_.output.quiet, "nothing on standard error but what goes wrong")->group(group_);
}

void Parser::add_language() {
  group_ = "What is spoken, and what to write";
  option("--language", "LANGUAGE", "code or name of the language; None: detected (None)",
         [this](const std::string& written) {
           std::string& language = arguments_.transcribe.language;
           refuse_errors("--language",
                         [&] { language = is_none(written) || written == "auto" ? "" : language_code(written); });
         });
}

void Parser::add_what() {
  add_language();
  option("--languages", "LIST", "choose among these when the language is detected, for example de,en (all)",
         [this](const std::string& written) {
           std::vector<std::string>& codes = arguments_.transcribe.languages;
           codes.clear();
           if (is_none(written)) return;
           refuse_errors("--languages", [&] {
             for (const std::string& part : split(written, ',')) codes.emplace_back(language_code(part));
           });
         });
  yes_no("--language-per-segment", "detect the language again and again, for speech that changes between some (False)",
         arguments_.transcribe.language_per_segment);
  option("--task", "TASK", "transcribe, or translate to English (transcribe)", [this](const std::string& written) {
    if (written != "transcribe" && written != "translate") refuse("--task", written, "transcribe or translate");
    arguments_.transcribe.translate = written == "translate";
  });
  option("--start", "TIME", "only the sound from here on, in seconds or as [hh:]mm:ss (0)",
         [this](const std::string& written) { arguments_.decoding.start_s = time("--start", written, kTime); });
  option("--end", "TIME", "only the sound before this (its end)",
         [this](const std::string& written) { arguments_.decoding.end_s = time("--end", written, kTime); });
  option("--clip-timestamps", "LIST", "only these stretches: start,end,start,end… (0)",
         [this](const std::string& written) {
           auto& times = arguments_.transcribe.clip_timestamps;
           times.clear();
           std::vector<std::string> parts = split(written, ',');
           if (parts.back().empty()) parts.pop_back();
           for (const std::string& part : parts) times.push_back(time("--clip-timestamps", part, kTime));
           refuse_errors("--clip-timestamps", [&] { clips_from_times(times); });
         });
  add_voice_activity();
}

void Parser::add_voice_activity() {
  VadSettings& vad = arguments_.transcribe.vad;
  yes_no("--vad", "decode only where a voice is heard (True); --no-vad decodes all", arguments_.transcribe.voice_activity);
  option("--vad-threshold", "NUMBER", "probability from which on a sound is a voice (0.5)",
         [&vad](const std::string& written) {
           vad.threshold = static_cast<float>(number("--vad-threshold", written, 0.01, 1, "a number from 0.01 to 1"));
           vad.end_threshold = std::max(0.01f, vad.threshold - 0.15f);
         });
  const auto milliseconds = [this](const std::string& name, const std::string& help, int& target) {
    option(name, "MS", help, [name, &target](const std::string& written) {
      target = static_cast<int>(whole_number(name, written, 0, 30000, "a whole number of milliseconds up to 30000"));
    });
  };
  milliseconds("--vad-min-speech-duration-ms", "shorter sounds are no speech (90)", vad.min_speech_ms);
  milliseconds("--vad-min-silence-duration-ms", "shorter silence is no pause to cut at (160)", vad.min_silence_ms);
  milliseconds("--vad-speech-pad-ms", "silence that goes with speech on both sides (1000)", vad.pad_ms);
}

void Parser::add_words() {
  group_ = "Words";
  WordOptions& words = arguments_.transcribe.words;
  option("--word-timestamps", "True|False", "when each word is spoken: in json (True for subtitles, else False)",
         [this](const std::string& written) {
           words_wanted_ = yes_or_no(written);
           if (!words_wanted_) refuse("--word-timestamps", written, "True or False");
         });
  option("--prepend-punctuations", "TEXT", "marks that belong to the next word (\"'“¿([{-)",
         [&words](const std::string& written) { words.prepend_punctuations = written; });
  option("--append-punctuations", "TEXT", "marks that belong to the word before them (\"'.。,，!！?？:：”)]}、)",
         [&words](const std::string& written) { words.append_punctuations = written; });
  threshold("--hallucination-silence-threshold", 0, 3600, "a number of seconds from 0 to 3600",
            "skip text that looks made up, and the silence beside it if it is longer than this (None)",
            words.hallucination_silence_threshold);
}

void Parser::add_sound() {
  group_ = "Sound";
  option("--audio-track", "N", "which of a video's sound tracks, from 0 (default: the best one)",
         [this](const std::string& written) {
           arguments_.decoding.audio_track =
               whole_number("--audio-track", written, 0, 1e6, "a track's number, from 0 on");
         });
  option("--channels", "WHICH",
         "mix them; split: each on its own, as a speaker; or one alone: left, right, or its number from 1 (mix)",
         [this](const std::string& written) { take_channels(written); });
  option("--raw", "FORMAT:RATE:CHANNELS", "the sound has no header, for example s16le:8000:1",
         [this](const std::string& written) {
           refuse_errors("--raw", [&] { check_raw(written); });
           arguments_.decoding.raw = written;
         });
}

void Parser::add_sampling() {
  group_ = "Search";
  SamplingOptions& sampling = arguments_.transcribe.sampling;
  const std::string rows = "a whole number from 1 to " + std::to_string(kMaxRows) + ", or None";
  option("--beam-size", "N", "beams at temperature 0; 1: greedy (5)", [=, &sampling](const std::string& written) {
    sampling.beam_size = is_none(written) ? 1 : whole_number("--beam-size", written, 1, kMaxRows, rows);
  });
  option("--best-of", "N", "samples above temperature 0 (5)", [=, &sampling](const std::string& written) {
    sampling.best_of = is_none(written) ? 1 : whole_number("--best-of", written, 1, kMaxRows, rows);
  });
  option("--patience", "NUMBER", "finished beams to wait for, as a multiple of the beam size (1)",
         [&sampling](const std::string& written) {
           sampling.patience =
               is_none(written) ? 1 : number("--patience", written, 0, kMaxFinished, "a number above 0, or None");
         });
  threshold("--length-penalty", 0, 1, "a number from 0 to 1", "alpha of Google NMT's length penalty; None: by length",
            sampling.length_penalty);
  option("--temperature", "NUMBER", "temperature to begin with (0)", [this](const std::string& written) {
    temperature_ = number("--temperature", written, 0, 10, "a number from 0 to 10");
  });
  threshold("--temperature-increment-on-fallback", 0.01, 10, "a number from 0.01 to 10",
            "step to the next temperature when a decoding fails; None: never tried again (0.2)", increment_);
  option("--suppress-tokens", "LIST", "tokens never to write; -1: symbols that aren't speech (-1)",
         [&sampling](const std::string& written) {
           refuse_errors("--suppress-tokens", [&] { check_suppressed_tokens(written); });
           sampling.suppress_tokens = written;
         });
  option("--seed", "N", "of the samples above temperature 0 (0)", [&sampling](const std::string& written) {
    sampling.seed = whole_number("--seed", written, 0, 9e15, "a whole number from 0 to 9e15");
  });
}

void Parser::add_thresholds() {
  group_ = "When a decoding counts as failed or silent";
  ThresholdOptions& thresholds = arguments_.transcribe.thresholds;
  threshold("--compression-ratio-threshold", -kInfinity, kInfinity, "a number",
            "failed if the text repeats itself more than this (2.4)", thresholds.compression_ratio);
  threshold("--logprob-threshold", -kInfinity, kInfinity, "a number",
            "failed if the average log-probability is less (-1)", thresholds.log_prob);
  threshold("--no-speech-threshold", -kInfinity, kInfinity, "a number",
            "silent if this is less than the probability of no speech, and the decoding failed (0.6)",
            thresholds.no_speech);
}

void Parser::add_prompt() {
  group_ = "Context";
  PromptOptions& prompt = arguments_.transcribe.prompt;
  option("--hotwords", "TEXT", "names and words to expect, in each window",
         [&prompt](const std::string& written) { prompt.hotwords = is_none(written) ? "" : written; });
  option("--initial-prompt", "TEXT", "text to have in mind, such as names and their spelling",
         [&prompt](const std::string& written) {
           prompt.initial = is_none(written) ? std::nullopt : std::optional(written);
         });
  yes_no("--carry-initial-prompt", "... in each window, not in the first alone (False)", prompt.carry_initial);
  yes_no("--condition-on-previous-text", "each window knows the text before it (True); of no effect in batched mode",
         prompt.condition_on_previous_text);
}

void Parser::add_running() {
  group_ = "Running";
  option("--threads", "N", "threads; 0: one for each processor (0)",
         [this](const std::string& written) {
           arguments_.network.threads = whole_number("--threads", written, 0, 1024, "a whole number from 0 to 1024");
         });
  one_of("--mode", {"sequential", "batched"},
         "each window after the one before it, whose text it knows; or side by side (sequential)", mode_);
  option("--batch-size", "N", "windows side by side in batched mode (8; fewer of a large model where memory is short)",
         [this](const std::string& written) {
           batch_size_ = whole_number("--batch-size", written, 1, 64, "a whole number from 1 to 64");
         });
  one_of("--engine", {"auto", "cpu", "reference"}, "which network runs: this processor's, or the plain one (auto)",
         arguments_.network.engine);
  option("--device", "NAME", "auto, cpu, cuda or cuda:N; without such a GPU the processor does the work (auto)",
         [this](const std::string& written) { take_device(written); });
  one_of("--precision", {"auto", "f32", "f16", "bf16", "int8"},
         "of the network's arithmetic; auto: f16 on a GPU, int8 where the processor multiplies bytes, else f32 (auto)",
         arguments_.network.precision);
  option("--isa", "NAME", "instruction set of the processor's kernels: avx512, avx2, portable … (auto)",
         [this](const std::string& written) { arguments_.network.isa = written; });
  yes_no("--fp16", "accepted for openai-whisper's sake; the engine chooses its precision", fp16_);
}

void Parser::take_channels(const std::string& written) {
  const std::vector<std::string> words = {"left", "right"};
  const auto word = std::find(words.begin(), words.end(), written);
  arguments_.transcribe.split_channels = written == "split";
  arguments_.decoding.channel = -1;
  if (word != words.end())
    arguments_.decoding.channel = static_cast<int>(word - words.begin());
  else if (written != "split" && written != "mix")
    arguments_.decoding.channel = whole_number("--channels", written, 1, 64, "mix, split, left, right, or a number "
                                                                             "from 1") - 1;
}

void Parser::take_device(const std::string& written) {
  if (!is_device(written)) refuse("--device", written, std::string("one of ") + kDevices);
  arguments_.network.device = written;
}

void Parser::settle() {
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

void Parser::settle_running() {
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
void Parser::settle_redo() {
  if (redo_.size() != 2 || arguments_.files.size() != 1)
    throw CLI::ValidationError("--redo", "it takes one stretch and one file of subtitles, and one file of sound");
  if (writes_files_ || !arguments_.output.formats.empty() || arguments_.transcribe.clip_timestamps.size() > 1)
    throw CLI::ValidationError("--redo", "it says by itself what to transcribe and which file to write");
  refuse_errors("--redo", [&] { arguments_.redo = read_redo(redo_[0], redo_[1]); });
  const Stretch& stretch = arguments_.redo->stretch;
  arguments_.transcribe.clip_timestamps = {static_cast<double>(stretch.start_ms) / 1000,
                                           static_cast<double>(stretch.end_ms) / 1000};
}

// A folder alone stands for every format, as in openai-whisper. Standard output takes one format, and more than one
// file only where transcripts can follow each other.
void Parser::settle_output() {
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
void Parser::refuse_unknown(const std::string& unknown, const std::vector<std::string>& written) const {
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

std::optional<Arguments> Parser::parse(const std::vector<std::string>& written) {
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
std::optional<Arguments> Parser::parse_align(const std::vector<std::string>& written) {
  app_.name("sotto align");
  app_.description("When each word of a text is spoken. The text: a transcript as plain text or JSON, or subtitles (SRT, "
                   "WebVTT), whose cues and lines stay. What isn't heard gets no time, and is named, as is speech without "
                   "a text.");
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  arguments_.files.resize(2);
  app_.add_option("AUDIO", arguments_.files[0], "a sound or video file")->required();
  app_.add_option("TEXT", arguments_.files[1], "the file with its text; '-': standard input")->required();
  arguments_.output.folder = "-";
  add_model();
  group_ = "Output";
  option("-o,--output", "FILE", "the file to write, in the format that its name says ('-': standard output)",
         [this](const std::string& name) { arguments_.output.folder = name; });
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

bool Parser::read(const std::vector<std::string>& written) {
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

}  // namespace

std::vector<std::string> normalised(const std::vector<std::string>& written) {
  std::vector<std::string> normal;
  for (size_t i = 0; i < written.size(); ++i) {
    std::string word = written[i];
    if (word == "--") {
      normal.insert(normal.end(), written.begin() + i, written.end());
      break;
    }
    if (word.starts_with("--")) {
      const auto name_end = word.begin() + std::min(word.find('='), word.size());
      std::replace(word.begin(), name_end, '_', '-');
    }
    if (word == "--no-vad") word = "--vad=False";
    if (std::find(kYesNoOptions.begin(), kYesNoOptions.end(), word) != kYesNoOptions.end()) {
      const bool has_value = i + 1 < written.size() && yes_or_no(written[i + 1]);
      word += has_value ? "=" + written[++i] : "=True";
    }
    normal.push_back(std::move(word));
  }
  return normal;
}

std::optional<Arguments> parse_arguments(const std::vector<std::string>& written) {
  return Parser().parse(written);
}

std::optional<Arguments> parse_align_arguments(const std::vector<std::string>& written) {
  return Parser().parse_align(written);
}

}  // namespace sotto
