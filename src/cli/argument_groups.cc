// The options of sotto transcribe and sotto align, by what they are for.
#include <algorithm>
#include <limits>

#include "kernels/decode.h"
#include "models/languages.h"
#include "src/cli/argument_parser.h"
#include "src/suppress.h"
#include "src/windows.h"

namespace sotto {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void ArgumentParser::add_model() {
  group_ = "Model";
  option("-m,--model", "NAME", "name, file or folder of a model; 'sotto models list' shows the names (base)",
         [this](const std::string& written) { arguments_.model = written; });
  option("--model-dir", "FOLDER", "where models are kept ($SOTTO_HOME/models or ~/.cache/sotto/models)",
         [this](const std::string& written) { arguments_.fetch.model_dir = written; });
  app_.add_flag("--offline", arguments_.fetch.offline, "never download anything")->group(group_);
}

void ArgumentParser::add_output() {
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

void ArgumentParser::add_language() {
  group_ = "What is spoken, and what to write";
  option("--language", "LANGUAGE", "code or name of the language; None: detected (None)",
         [this](const std::string& written) {
           std::string& language = arguments_.transcribe.language;
           refuse_errors("--language",
                         [&] { language = is_none(written) || written == "auto" ? "" : language_code(written); });
         });
}

void ArgumentParser::add_what() {
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
         [this](const std::string& written) { arguments_.decoding.start_s = time_value("--start", written, kTime); });
  option("--end", "TIME", "only the sound before this (its end)",
         [this](const std::string& written) { arguments_.decoding.end_s = time_value("--end", written, kTime); });
  option("--clip-timestamps", "LIST", "only these stretches: start,end,start,end… (0)",
         [this](const std::string& written) {
           auto& times = arguments_.transcribe.clip_timestamps;
           times.clear();
           std::vector<std::string> parts = split(written, ',');
           if (parts.back().empty()) parts.pop_back();
           for (const std::string& part : parts) times.push_back(time_value("--clip-timestamps", part, kTime));
           refuse_errors("--clip-timestamps", [&] { clips_from_times(times); });
         });
  add_voice_activity();
}

void ArgumentParser::add_voice_activity() {
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

void ArgumentParser::add_words() {
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

void ArgumentParser::add_sound() {
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

void ArgumentParser::add_sampling() {
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

void ArgumentParser::add_thresholds() {
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

void ArgumentParser::add_prompt() {
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

void ArgumentParser::add_running() {
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

void ArgumentParser::take_channels(const std::string& written) {
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

void ArgumentParser::take_device(const std::string& written) {
  if (!is_device(written)) refuse("--device", written, std::string("one of ") + kDevices);
  arguments_.network.device = written;
}

}  // namespace sotto
