// The command line without weights: what it says, and with which status it ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "program.h"
#include "wav.h"

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
        "--hallucination-silence-threshold"}) {
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
}

TEST_CASE("numbers out of range, and what is no number, are refused") {
  for (const char* arguments :
       {"--beam-size -1", "--beam-size 0", "--beam-size 1000", "--beam-size 2.5", "--beam-size x", "--best-of 0",
        "--patience -1", "--patience 0", "--patience nan", "--patience 1000", "--length-penalty 1.5",
        "--length-penalty -0.1", "--temperature -0.2", "--temperature nan", "--temperature inf", "--temperature 1e9",
        "--temperature-increment-on-fallback 0", "--temperature-increment-on-fallback -0.2",
        "--compression-ratio-threshold x", "--logprob-threshold nan", "--no-speech-threshold ''", "--seed -1", "--seed 1.5",
        "--clip-timestamps -5", "--clip-timestamps 10,5", "--clip-timestamps 1,,2", "--clip-timestamps nan",
        "--hallucination-silence-threshold -1", "--hallucination-silence-threshold soon"})
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
  check_refused("a.wav --style film", "choose from broadcast, netflix, bbc, social and plain");
  check_refused("a.wav --max_line_width 0", "--max-line-width: it must be 1 or more");
  check_refused("a.wav --max_line_width 1", "from 2 to 1000 columns");
  check_refused("a.wav --reading-speed slow", "'slow' is not a number");
  check_refused("a.wav --min-duration 8", "the shortest time");
  check_refused("subtitles a.json --fps 0", "from 1 to 1000 frames");
}

TEST_CASE("what was written but won't be so is said once, and the work goes on") {
  const TemporaryFolder folder;
  const ScopedVariable home("SOTTO_HOME", folder.path().c_str());
  const std::string rest = " " + folder.path() + "/missing.wav";
  CHECK(run_sotto("--device cuda:1" + rest).err.find("no CUDA engine") != std::string::npos);
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
