// `sotto live` with all its outputs at once, on real speech with the weights of tiny.en.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/catalog.h"
#include "program.h"
#include "src/subtitles/cue_file.h"
#include "test_models.h"

using nlohmann::json;

namespace {

const std::string kShort = std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-0930.wav";

std::string with_model() {
  const auto path = test_model("tiny.en");
  const bool listens = std::filesystem::exists(sotto::sotto_home() + "/models/vad");
  if (path && listens && std::filesystem::exists(kShort)) return "live --model " + *path + " --offline --realtime " + kShort;
  MESSAGE("skipped: the weights of tiny.en, the voice activity network or the speech in " << kTestSpeech << " are not here");
  return "";
}

std::string letters(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c))) out += c;
  return out;
}

}  // namespace

TEST_CASE("live captions reach lines, subtitles, JSON and a recording at once, and all say the same") {
  const std::string live = with_model();
  if (live.empty()) return;
  const TemporaryFolder folder;
  const std::string base = folder.path() + "/live";
  const Ran ran = run_sotto(live + " --srt " + base + ".srt --vtt " + base + ".vtt --jsonl " + base + ".jsonl --record " +
                            base + ".flac --serve 127.0.0.1:0");
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.find("captions are at http://127.0.0.1:") != std::string::npos);
  std::string said;
  std::istringstream lines(file_content(base + ".jsonl"));
  for (std::string line; std::getline(lines, line);)
    if (const json event = json::parse(line); event["event"] == "committed") said += event["text"];
  CHECK(letters(said).find("amiable") != std::string::npos);
  CHECK(letters(ran.out) == letters(said));
  for (const char* extension : {".srt", ".vtt"}) {
    std::string shown;
    const sotto::CueFile file = sotto::read_cue_file(base + extension);
    for (const sotto::FileCue& cue : file.cues)
      for (const std::string& line : cue.text) shown += sotto::shown(line, file.format);
    CHECK(letters(shown) == letters(said));
  }
  // The recording is what was played, sample for sample.
  const std::string to_raw = " -v error -f s16le -ar 16000 -ac 1 ";
  if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) return;
  REQUIRE(std::system(("ffmpeg -i " + base + ".flac" + to_raw + base + ".raw && ffmpeg -i " + kShort + to_raw + base +
                       ".wanted").c_str()) == 0);
  const std::string recorded = file_content(base + ".raw"), played = file_content(base + ".wanted");
  CHECK(recorded.size() > played.size() * 9 / 10);
  CHECK(recorded == played.substr(0, recorded.size()));

  const Ran again = run_sotto(live + " --record " + base + ".flac");
  CHECK(again.status == 1);
  CHECK(again.err.find("is there already") != std::string::npos);
}

TEST_CASE("what is transcribed once more takes the captions' place in all files, as a file's transcript") {
  const std::string live = with_model();
  if (live.empty()) return;
  const TemporaryFolder folder;
  const std::string base = folder.path() + "/live";
  const Ran ran =
      run_sotto(live + " --speed 20 --refine --srt " + base + ".srt --vtt " + base + ".vtt --jsonl " + base + ".jsonl");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const std::string model = live.substr(5, live.find(" --offline") - 5);
  const std::string wanted = letters(run_sotto(kShort + " " + model + " --offline -f txt -o " + folder.path()).out);
  REQUIRE(wanted.find("amiable") != std::string::npos);
  std::string said, kinds;
  std::istringstream lines(file_content(base + ".jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    kinds += event["event"].get<std::string>() + " ";
    if (event["event"] == "refined") said += event["text"];
  }
  CHECK(kinds.find("committed") == std::string::npos);
  CHECK(kinds.ends_with("refined end "));
  CHECK(letters(said) == wanted);
  for (const char* extension : {".srt", ".vtt"}) {
    std::string shown;
    const sotto::CueFile file = sotto::read_cue_file(base + extension);
    for (const sotto::FileCue& cue : file.cues)
      for (const std::string& line : cue.text) shown += sotto::shown(line, file.format);
    CHECK(letters(shown) == wanted);
  }
  CHECK(letters(ran.out).ends_with(wanted));

  const Ran printed = run_sotto(live + " --speed 20 --refine --jsonl -");
  REQUIRE(printed.status == 0);
  std::istringstream events(printed.out);
  std::string refined;
  for (std::string line; std::getline(events, line);)
    if (const json event = json::parse(line); event["event"] == "refined") refined += event["text"];
  CHECK(letters(refined) == wanted);
}

TEST_CASE("live captions: outputs that can't be are told before anything else is done") {
  const std::vector<std::pair<const char*, int>> refused = {
      {"--serve nonsense", 2},        {"--serve 127.0.0.1:0 --serve-token short", 2},
      {"--vtt x.vtt --style plain", 2}, {"--srt x.srt --highlight-words", 2},
      {"--vtt x.vtt --style none", 2},  {"--srt /dev/null/x.srt", 1}};
  for (const auto& [wrong, status] : refused) {
    CAPTURE(wrong);
    const Ran ran = run_sotto(std::string("live --offline --model none --realtime none.wav ") + wrong);
    CHECK(ran.status == status);
    CHECK(ran.err.find("none.wav") == std::string::npos);
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') <= 2);
  }
  CHECK(!std::filesystem::exists("x.vtt"));
  const TemporaryFolder folder;
  const std::string talk = folder.path() + "/talk.srt";
  std::filesystem::copy_file("README.md", talk);
  const std::string before = file_content(talk);
  CHECK(run_sotto("live --offline --model none --realtime " + talk + " --srt " + folder.path() + "/./talk.srt").status == 1);
  CHECK(file_content(talk) == before);
}
