// The whole program on real speech, with the weights of tiny.en: what a user gets, and what is left when things go
// wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "program.h"
#include "test_models.h"
#include "wav.h"

using nlohmann::json;

namespace {

const std::string kShort = std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-0930.wav";
const std::string kText = "He might even have been made amiable himself.";

// Options that all tests share, or "" where the weights aren't here.
std::string with_model() {
  const auto path = test_model("tiny.en");
  if (path && std::filesystem::exists(kShort)) return "--model " + *path + " --offline --beam-size 1 --no-vad ";
  MESSAGE("skipped: the weights of tiny.en or the speech in " << kTestSpeech << " are not here");
  return "";
}

#define NEED_MODEL(options)                \
  const std::string options = with_model(); \
  if (options.empty()) return

// A transcript as jsonl on standard output.
json transcribed(const std::string& arguments, const std::string& input = "") {
  const Ran ran = run_sotto(arguments + " --output-format jsonl --output-dir - --quiet", input);
  CAPTURE(arguments);
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

bool names_no_temporary_file(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(".")) return false;
  return true;
}

}  // namespace

TEST_CASE("a bare file prints its segments on stdout, the rest on stderr, and writes nothing") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string program = std::filesystem::absolute(SOTTO_PROGRAM);
  const Ran ran = run_sotto(options + kShort + " --fp16 False --condition_on_previous_text True");
  CHECK(ran.status == 0);
  CHECK(std::regex_match(ran.out, std::regex(R"(\[00:00\.000 --> 00:0\d\.\d\d\d\] +He might even .*himself\.\n)")));
  CHECK(ran.err.find("tiny.en on ") != std::string::npos);
  CHECK(ran.err.find('\r') == std::string::npos);  // no progress line where it isn't a terminal
  const Ran quiet = run_sotto("transcribe " + options + kShort + " --quiet");
  CHECK(quiet.out == ran.out);
  CHECK(quiet.err.empty());
  CHECK(run_sotto(options + kShort + " --quiet --verbose False").out.empty());
}

TEST_CASE("files are written where they were asked for, whole, in each format") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string target = folder.path() + "/a/b";
  const Ran ran = run_sotto(options + kShort + " -o " + target);
  CHECK(ran.status == 0);
  const std::string stem = target + "/" + std::filesystem::path(kShort).stem().string();
  CHECK(ran.err.find("wrote " + stem + ".txt, " + stem + ".vtt") != std::string::npos);
  CHECK(file_content(stem + ".txt") == kText + "\n");
  CHECK(file_content(stem + ".srt").starts_with("1\n00:00:00,000 --> "));
  CHECK(file_content(stem + ".vtt").starts_with("WEBVTT\n"));
  CHECK(file_content(stem + ".tsv").starts_with("start\tend\ttext\n"));
  CHECK(json::parse(file_content(stem + ".json"))["language"] == "en");
  CHECK(!std::filesystem::exists(stem + ".jsonl"));
  CHECK(names_no_temporary_file(target));

  CHECK(run_sotto(options + kShort + " --output_dir=" + folder.path() + " --output_format txt -f jsonl").status == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 3);
}

TEST_CASE("a folder that can't be made is said before the work begins") {
  NEED_MODEL(options);
  const Ran ran = run_sotto(options + kShort + " -o " + kShort + "/below");
  CHECK(ran.status == 1);
  CHECK(ran.out.empty());
  CHECK(ran.err.find(kShort + "/below") != std::string::npos);
}

TEST_CASE("a file that fails is named, the rest go on, and the status is 1") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string empty = folder.path() + "/empty.wav", text = folder.path() + "/text.mp3";
  std::ofstream(empty).close();
  std::ofstream(text) << "this is no sound\n";
  const Ran ran = run_sotto(options + empty + " " + kShort + " " + text + " " + folder.path() + "/missing.wav" +
                            " --output-format jsonl --output-dir - --quiet");
  CHECK(ran.status == 1);
  CHECK(json::parse(ran.out)["audio"] == kShort);
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 3);
  for (const char* name : {"empty.wav", "text.mp3", "missing.wav"}) CHECK(ran.err.find(name) != std::string::npos);
}

TEST_CASE("a pipe, streamed sizes and a header without sound") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const json whole = transcribed(options + kShort);
  CHECK(whole["text"].get<std::string>().find(kText) != std::string::npos);
  CHECK(whole["duration"].get<double>() == doctest::Approx(3.29).epsilon(0.01));
  const json piped = transcribed(options + "-", "cat " + kShort);
  CHECK(piped["segments"] == whole["segments"]);

  const std::string streamed = folder.path() + "/streamed.wav", hollow = folder.path() + "/hollow.wav";
  const std::string bytes = file_content(kShort).substr(44);
  std::vector<int16_t> samples(bytes.size() / 2);
  std::copy(bytes.begin(), bytes.begin() + samples.size() * 2, reinterpret_cast<char*>(samples.data()));
  write_wav(streamed, samples, 0xffffffff);
  CHECK(transcribed(options + streamed)["text"] == whole["text"]);
  write_wav(hollow, {});
  CHECK(transcribed(options + hollow)["segments"].empty());
}

TEST_CASE("sound without a header is taken as it is described") {
  NEED_MODEL(options);
  const json transcript = transcribed(options + kTestSpeech + "/goforward.raw --raw s16le:16000:1");
  CHECK(std::regex_search(transcript["text"].get<std::string>(), std::regex("[Gg]o forward")));
}

TEST_CASE("clips: only what was asked for, at its own times; behind the end nothing and a warning") {
  NEED_MODEL(options);
  const json all = transcribed(options + kShort + " --clip-timestamps 1");
  CHECK(all["segments"][0]["start"] >= 1);
  CHECK(all["segments"].back()["end"] <= all["duration"]);
  const Ran behind = run_sotto(options + kShort + " --clip-timestamps 20");
  CHECK(behind.status == 0);
  CHECK(behind.out.empty());
  CHECK(behind.err.find("ends at 0:03, before the clip that begins at 0:20") != std::string::npos);
}

TEST_CASE("very short sounds are decoded, and no time passes their end") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/short.wav";
  for (const int n : {1, 160, 1440, 1600, 1760, 15840}) {
    CAPTURE(n);
    write_wav(path, noise(n, 3000));
    const json transcript = transcribed(options + path);
    CHECK(transcript["duration"].get<double>() == doctest::Approx(n / 16000.0).epsilon(0.01));
    for (const json& segment : transcript["segments"]) {
      CHECK(segment["start"] >= 0);
      CHECK(segment["start"] <= segment["end"]);
      CHECK(segment["end"] <= transcript["duration"]);
    }
  }
}

TEST_CASE("silence, hiss and hum give no text") {
  NEED_MODEL(options);
  if (!std::filesystem::exists(sotto::sotto_home() + "/models/vad")) {
    MESSAGE("skipped: the voice activity network isn't here");
    return;
  }
  const TemporaryFolder folder;
  const std::string base = folder.path() + "/";
  write_wav(base + "silence.wav", silence(160000));
  write_wav(base + "longer.wav", silence(496000));
  write_wav(base + "hiss.wav", noise(160000, 33));
  write_wav(base + "hum.wav", hum(160000));
  const Ran ran = run_sotto(options + " --vad " + base + "*.wav --output-format jsonl --output-dir - --quiet");
  CHECK(ran.status == 0);
  std::istringstream lines(ran.out);
  int n = 0;
  for (std::string line; std::getline(lines, line); ++n) CHECK(json::parse(line)["text"] == "");
  CHECK(n == 4);
  const Ran told = run_sotto(options + " --vad " + base + "hum.wav");
  CHECK(told.out.empty());
  CHECK(told.err.find(base + "hum.wav: no voice was heard; --no-vad decodes it all the same\n") != std::string::npos);
}

TEST_CASE("ten seconds of silence have a high no-speech probability and no text without voice detection, too") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/silence.wav";
  write_wav(path, silence(160000));
  CHECK(transcribed(options + path)["text"] == "");
  CHECK(transcribed(options + path + " --initial-prompt 'An interview.'")["text"] == "");
  const json decoded =
      transcribed(options + path + " --no-speech-threshold None --temperature-increment-on-fallback None");
  REQUIRE(!decoded["segments"].empty());
  CHECK(decoded["segments"][0]["no_speech_prob"] > 0.6);
}

TEST_CASE("an initial prompt of any length and content does no harm") {
  NEED_MODEL(options);
  std::string prompt = "<|endoftext|>";
  for (int i = 0; i < 600; ++i) prompt += " word";
  const Ran ran = run_sotto(options + kShort + " --carry_initial_prompt True --temperature-increment-on-fallback None" +
                            " --initial-prompt '" + prompt + "'");
  CHECK(ran.status == 0);
  CHECK(ran.err.find("warning: the initial prompt") != std::string::npos);
}

TEST_CASE("what became of the sound is told on request, and adds up") {
  NEED_MODEL(options);
  for (const char* mode : {" --mode sequential", " --mode batched --batch-size 3"}) {
    const Ran ran = run_sotto(options + kShort + mode + " --coverage -f jsonl -o -");
    CHECK(ran.status == 0);
    CHECK(ran.err.find("] transcribed\n") != std::string::npos);
    const json transcript = json::parse(ran.out);
    double at_s = 0;
    for (const json& stretch : transcript["coverage"]) {
      CHECK(stretch["start"] == at_s);
      at_s = stretch["end"];
    }
    CHECK(at_s == transcript["duration"]);
    CHECK(transcript["text"] == " " + kText);
  }
}

TEST_CASE("Ctrl-C ends with status 130, with what there is so far and no half-written file") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/long.wav";
  const std::string bytes = file_content(kShort).substr(44);
  std::vector<int16_t> speech;
  const auto* samples = reinterpret_cast<const int16_t*>(bytes.data());
  for (int i = 0; i < 400; ++i) speech.insert(speech.end(), samples, samples + bytes.size() / 2);
  write_wav(path, speech);
  // Once the first line is out. What a shell starts in the background is deaf to SIGINT, but for env.
  const std::string command = "env --default-signal=INT " SOTTO_PROGRAM " " + options + path + " -f json -o " +
                              folder.path() + " >" + folder.path() + "/out 2>" + folder.path() +
                              "/err & program=$!; n=0; while [ ! -s " +
                              folder.path() + "/out ] && [ $n -lt 300 ]; do sleep 0.2; n=$((n + 1)); done; " +
                              "kill -INT $program; wait $program";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(json::parse(file_content(folder.path() + "/long.json")).contains("segments"));
  const std::string told = file_content(folder.path() + "/err");
  CAPTURE(told);
  CHECK(std::regex_search(told, std::regex(R"(interrupted at \d+:\d\d of \d\d:\d\d; .*long\.json holds what )")));
  CHECK(told.find("real time") == std::string::npos);  // nothing is known of the rest
  CHECK(names_no_temporary_file(folder.path()));
}

TEST_CASE("Ctrl-C before anything was transcribed leaves a file of an earlier run as it was") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string sound = folder.path() + "/endless.wav", earlier = folder.path() + "/stdin.srt";
  write_wav(sound, silence(16000), 0xffffffff);
  std::ofstream(earlier) << "all of it\n";
  const std::string command = "(cat " + sound + "; sleep 5) | timeout --preserve-status -s INT 3 " SOTTO_PROGRAM " " +
                              options + "- -o " + folder.path() + " -f srt 2>" + folder.path() + "/err";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(file_content(earlier) == "all of it\n");
  CHECK(file_content(folder.path() + "/err").find("nothing was written") != std::string::npos);
}

TEST_CASE("a full device behind standard output is said once, and isn't the sound's fault") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string told = folder.path() + "/err";
  const std::string files = kShort + " " + kShort;
  const int status = std::system((SOTTO_PROGRAM " " + options + files + " --quiet >/dev/full 2>" + told).c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(file_content(told) == "sotto: standard output can't be written to: No space left on device\n");
}

TEST_CASE("a reader that goes away ends the program without a word") {
  NEED_MODEL(options);
  const Ran ran = run_sotto(options + kShort + " " + kShort + " --quiet | head -c 1");
  CHECK(ran.err.empty());
}

TEST_CASE("started deaf to Ctrl-C, as in a script's background, the program finishes") {
  NEED_MODEL(options);
  const std::string command = "timeout --preserve-status -s INT 0.3 env --ignore-signal=INT " SOTTO_PROGRAM " " +
                              options + kShort + " " + kShort + " >/dev/null 2>&1";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("a transcript never takes the place of a file to transcribe") {
  NEED_MODEL(options);
  const TemporaryFolder folder;
  const std::string sound = folder.path() + "/talk.srt", content = file_content(kShort);
  std::filesystem::copy_file(kShort, sound);
  const Ran ran = run_sotto(options + sound + " -f srt -o " + folder.path());
  CHECK(ran.status == 1);
  CHECK(ran.err.find("would overwrite " + sound) != std::string::npos);
  CHECK(file_content(sound) == content);
  CHECK(run_sotto(options + sound + " -f txt -o " + folder.path()).status == 0);
  CHECK(run_sotto(options + sound + " -f srt -o " + folder.path() + "/texts").status == 0);
}

TEST_CASE("too little memory is said in a sentence, wherever it ends") {
  NEED_MODEL(options);
  for (int limit_kb = 250'000; limit_kb < 500'000; limit_kb += 50'000) {
    CAPTURE(limit_kb);
    const Ran ran = run_sotto("--version >/dev/null; (ulimit -v " + std::to_string(limit_kb) + "; " SOTTO_PROGRAM " " +
                              options + kShort + " --quiet)");
    if (ran.status == 0 || ran.status == 127) continue;  // 127: too little for the program's libraries even
    CHECK(ran.status == 1);
    CHECK(ran.err.find("memory") != std::string::npos);
    CHECK(ran.err.find("bad_alloc") == std::string::npos);
  }
}
