// The command line without weights: what it says, and with which status it ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "program.h"
#include "src/cli/arguments.h"
#include "src/cli/progress.h"
#include "wav.h"

using namespace sotto;

namespace {

// A usage error: status 2, a sentence with `what` in it on stderr, nothing on stdout.
void check_refused(const std::string& arguments, const std::string& what) {
  CAPTURE(arguments);
  const Ran ran = run_sotto(arguments);
  CAPTURE(ran.err);
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err.starts_with("sotto: "));
  CHECK(ran.err.find(what) != std::string::npos);
}

}  // namespace

TEST_CASE("help is short first and whole on demand; the version is one line") {
  const Ran first = run_sotto("--help");
  CHECK(first.status == 0);
  CHECK(std::count(first.out.begin(), first.out.end(), '\n') < 24);
  const Ran whole = run_sotto("transcribe --help");
  CHECK(whole.status == 0);
  for (const char* option :
       {"--model", "--language", "--task", "--output-dir", "--output-format", "--beam-size", "--patience",
        "--length-penalty", "--temperature", "--best-of", "--initial-prompt", "--condition-on-previous-text",
        "--temperature-increment-on-fallback", "--compression-ratio-threshold", "--logprob-threshold",
        "--no-speech-threshold", "--suppress-tokens", "--carry-initial-prompt", "--clip-timestamps", "--model-dir",
        "--fp16", "--verbose", "--threads", "--seed", "--audio-track", "--raw", "--device", "--vad", "--offline",
        "--quiet", "--word-timestamps", "--prepend-punctuations", "--append-punctuations",
        "--hallucination-silence-threshold", "--start", "--end", "--languages", "--language-per-segment", "--channels",
        "--hotwords"}) {
    CAPTURE(option);
    CHECK(whole.out.find(option) != std::string::npos);
  }
  const Ran version = run_sotto("--version");
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("sotto "));
  CHECK(std::count(version.out.begin(), version.out.end(), '\n') == 1);
  CHECK(run_sotto("").status == 2);
}

TEST_CASE("options that don't exist and values that can't be are refused with a sentence") {
  check_refused("a.wav --no-such-option", "--no-such-option");
  check_refused("transcribe", "FILE");
  check_refused("a.wav --model", "--model");
  check_refused("''", "empty");
  check_refused("a.wav --raw s16le", "s16le:8000:1");
  check_refused("a.wav --device mps", "cuda");
  check_refused("a.wav --device cuda:x", "cuda");
  check_refused("a.wav --device cuda:99999", "cuda");
  check_refused("a.wav --device cuda-sim", "auto|cpu|cuda");  // there is none in this program
  check_refused("bench --device cuda-sim", "cpu|cuda");
  check_refused("live --device mps --realtime a.wav", "auto|cpu|cuda");
  check_refused("bench --device auto", "none of cpu|cuda|cuda:N");
  check_refused("bench --plan 8800gt", "a100|4090|h200");
  check_refused("bench --plan ''", "a100|4090|h200");
  check_refused("bench --plan a100 --batch 1,8", "one --batch");
  check_refused("bench --plan a100 --precision f32", "f16, bf16 or int8");
  check_refused("a.wav --task sing", "transcribe or translate");
  check_refused("a.wav --language klingon", "klingon");
  check_refused("a.wav --mode parallel", "sequential");
  check_refused("a.wav --batch-size 0", "--batch-size");
  check_refused("a.wav --engine abacus", "reference");
  check_refused("a.wav -f doc", "doc");
  check_refused("a.wav --fp16=maybe", "True or False");
  check_refused("a.wav --audio-track -1", "--audio-track");
  check_refused("a.wav --threads -2", "--threads");
  check_refused("a.wav --threads 1.5", "--threads");
  check_refused("a.wav --word_timestamps=perhaps", "--word-timestamps");
  check_refused("a.wav --hallucination-silence-threshold 2", "--word-timestamps");
  check_refused("a.wav --start 10 --end 0:10", "later than --start");
  check_refused("a.wav --languages de,en --language fr", "'fr' is not among --languages");
  check_refused("a.wav --language de --language-per-segment", "--languages");
}

TEST_CASE("numbers out of range, and what is no number, are refused") {
  for (const char* arguments :
       {"--beam-size -1", "--beam-size 0", "--beam-size 1000", "--beam-size 2.5", "--beam-size x", "--best-of 0",
        "--patience -1", "--patience 0", "--patience nan", "--patience 1000", "--length-penalty 1.5",
        "--length-penalty -0.1", "--temperature -0.2", "--temperature nan", "--temperature inf", "--temperature 1e9",
        "--temperature-increment-on-fallback 0", "--temperature-increment-on-fallback -0.2",
        "--compression-ratio-threshold x", "--logprob-threshold nan", "--no-speech-threshold ''", "--seed -1", "--seed 1.5",
        "--clip-timestamps -5", "--clip-timestamps 10,5", "--clip-timestamps 1,,2", "--clip-timestamps nan",
        "--clip-timestamps 1:2:3:4", "--clip-timestamps 1:60", "--start -5", "--start x", "--start 1:", "--start 1:2.5:3",
        "--end nan", "--start 1e10", "--channels 0", "--channels 1.5", "--channels both", "--languages de,klingon",
        "--languages ''", "--suppress-tokens x", "--suppress-tokens -2", "--suppress-tokens 1,,2",
        "--suppress-tokens 51866", "--hallucination-silence-threshold -1", "--hallucination-silence-threshold soon"})
    check_refused(std::string("a.wav ") + arguments, std::string(arguments, std::strcspn(arguments, " ")));
}

TEST_CASE("standard output takes one format, of several files only what can be joined") {
  check_refused("a.wav --output-dir -", "one format");
  check_refused("a.wav --output-dir - -f txt,srt", "one format");
  check_refused("a.wav b.wav --output-dir - -f srt", "several files");
}

TEST_CASE("a model that isn't there is one sentence and status 1, before any file is read") {
  const TemporaryFolder folder;
  const ScopedVariable home("SOTTO_HOME", folder.path().c_str());
  const std::string sound = folder.path() + "/a.wav";
  write_wav(sound, silence(16000));
  const Ran unknown = run_sotto(sound + " -m no-such-model --offline");
  CHECK(unknown.status == 1);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("no-such-model") != std::string::npos);
  const Ran absent = run_sotto(sound + " -m base --offline");
  CHECK(absent.status == 1);
  CHECK(std::count(absent.err.begin(), absent.err.end(), '\n') == 1);
}

TEST_CASE("output that can't be written is an error of every command") {
  for (const char* command : {"--version", "--help", "models list", "models list --json"}) {
    CAPTURE(command);
    const Ran ran = run_sotto(std::string("--version >/dev/null; (" SOTTO_PROGRAM " ") + command + " >/dev/full)");
    CHECK(ran.status == 1);
    CHECK(ran.err == "sotto: standard output can't be written to\n");
  }
}

TEST_CASE("an option that isn't there is shown as it was typed, with what may have been meant") {
  check_refused("a.wav --beem_size 3", "--beem_size is no option here; did you mean --beam-size?");
  check_refused("a.wav --xyzzy", "--xyzzy is no option here\n");
  check_refused("-dash.mp3", "after --");
}

TEST_CASE("layouts of subtitles that can't be are refused before the work begins") {
  check_refused("a.wav --style film", "choose from broadcast, netflix, bbc, social, plain and whisper");
  check_refused("a.wav --max_line_width 0", "--max-line-width: it must be 1 or more");
  check_refused("a.wav --style broadcast --max_line_width 1", "from 2 to 1000 columns");
  check_refused("a.wav --reading-speed slow", "'slow' is not a number");
  check_refused("a.wav --min-duration 8", "the shortest time");
  check_refused("subtitles a.json --fps 0", "from 1 to 1000 frames");
}

TEST_CASE("what was written but won't be so is said once, and the work goes on") {
  const TemporaryFolder folder;
  const ScopedVariable home("SOTTO_HOME", folder.path().c_str());
  const std::string rest = " " + folder.path() + "/missing.wav";
  CHECK(run_sotto("--device cpu" + rest).err.find("warning") == std::string::npos);
  CHECK(run_sotto("--verbose False" + rest).err.find("add -f") != std::string::npos);
  CHECK(run_sotto("--verbose False -f srt -o " + folder.path() + rest).err.find("warning") == std::string::npos);
}

TEST_CASE("without a file that can be read no model is looked for") {
  const TemporaryFolder folder;
  const ScopedVariable home("SOTTO_HOME", folder.path().c_str());
  const Ran ran = run_sotto("--offline " + folder.path() + "/missing.wav " + folder.path());
  CHECK(ran.status == 1);
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 2);
  CHECK(ran.err.find("missing.wav can't be opened") != std::string::npos);
}

TEST_CASE("times are seconds, or minutes and hours before them") {
  const auto options = [](const std::string& start, const std::string& end) {
    return parse_arguments({"a.wav", "--start", start, "--end", end})->decoding;
  };
  CHECK(options("90.5", "1:31").start_s == doctest::Approx(90.5));
  CHECK(*options("90.5", "1:31").end_s == doctest::Approx(91));
  CHECK(*options("0", "1:01:01.25").end_s == doctest::Approx(3661.25));
  CHECK(*options("0", "100:00").end_s == doctest::Approx(6000));
  const auto clips = parse_arguments({"a.wav", "--clip-timestamps", "10,1:30,2:00"})->transcribe.clip_timestamps;
  CHECK(clips == std::vector<double>{10, 90, 120});
}

TEST_CASE("which channels, and which languages") {
  CHECK(parse_arguments({"a.wav", "--channels", "split"})->transcribe.split_channels);
  CHECK(parse_arguments({"a.wav", "--channels", "left"})->decoding.channel == 0);
  CHECK(parse_arguments({"a.wav", "--channels", "right"})->decoding.channel == 1);
  CHECK(parse_arguments({"a.wav", "--channels", "5"})->decoding.channel == 4);
  const auto mixed = parse_arguments({"a.wav", "--channels", "split", "--channels", "mix"});
  CHECK(!mixed->transcribe.split_channels);
  CHECK(mixed->decoding.channel == -1);
  const auto languages = parse_arguments({"a.wav", "--languages", "German,en_US", "--language", "auto"})->transcribe;
  CHECK(languages.languages == std::vector<std::string>{"de", "en"});
  CHECK(languages.language.empty());
  CHECK(parse_arguments({"a.wav", "--language_per_segment"})->transcribe.language_per_segment);
}

TEST_CASE("a file whose name begins with a dash goes after --") {
  const auto arguments = parse_arguments({"--quiet", "--", "-fish.mp3", "--no-vad"});
  CHECK(arguments->files == std::vector<std::string>{"-fish.mp3", "--no-vad"});
}

TEST_CASE("the line of progress is as short as the terminal, and keeps what matters most") {
  CHECK(ProgressLine::text(30, 120, 10, 79) == " 25 %  3.0 x real time  0:30 left");
  CHECK(ProgressLine::text(30, 120, 10, 33) == " 25 %  3.0 x real time  0:30 left");
  CHECK(ProgressLine::text(30, 120, 10, 32) == " 25 %  3.0 x real time");
  CHECK(ProgressLine::text(30, 120, 10, 20) == " 25 %  0:30 left");
  CHECK(ProgressLine::text(30, 120, 10, 8) == " 25 %");
  CHECK(ProgressLine::text(30, 120, 10, 0).empty());
  CHECK(ProgressLine::text(30, {}, 10, 79) == "0:30  3.0 x real time");
}
