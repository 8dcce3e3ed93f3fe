// Files that grow while captions are told: what a reader finds at any time, and after a kill.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "captions.h"
#include "models/error.h"
#include "program.h"
#include "src/live/outputs/fan_out.h"
#include "src/live/outputs/json_output.h"
#include "src/live/outputs/line_output.h"
#include "src/live/outputs/subtitle_output.h"
#include "src/subtitles/check.h"
#include "src/subtitles/columns.h"
#include "src/subtitles/cue_file.h"
#include "temporary.h"

using namespace sotto;
using nlohmann::json;

namespace {

SubtitleOptions broadcast() { return {.style = "broadcast"}; }

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

// What a file shows, without spaces.
std::string shown_text(const CueFile& file) {
  std::string text;
  for (const FileCue& cue : file.cues)
    for (const std::string& line : cue.text) text += file.format == CueFormat::vtt ? shown(line, file.format) : line;
  return without_spaces(text);
}

// SRT has no way to write an arrow.
std::string said(const std::vector<CaptionUpdate>& updates, Format format) {
  std::string text;
  for (const CaptionUpdate& update : updates) text += text_of(update.committed);
  text = without_spaces(text);
  for (size_t at = format == Format::srt ? text.find("-->") : text.npos; at != text.npos; at = text.find("-->"))
    text.erase(at, 1);
  return text;
}

// Whole: a file of this format that a strict reader takes, of so many cues.
void check_whole(const std::string& content, Format format, size_t n_cues) {
  if (format == Format::vtt) REQUIRE(content.starts_with("WEBVTT\n\n"));
  const CueFile file = parse_cue_file(content);
  CHECK(file.bad_lines.empty());
  REQUIRE(file.cues.size() == n_cues);
  if (!content.empty()) CHECK(content.ends_with("\n\n"));
  for (size_t i = 0; i < n_cues; ++i) {
    if (format == Format::srt) CHECK(file.cues[i].name == std::to_string(i + 1));
    CHECK(!file.cues[i].text.empty());
  }
}

size_t count_arrows(const std::string& content) {
  size_t count = 0;
  for (size_t at = content.find(" --> "); at != content.npos; at = content.find(" --> ", at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("growing subtitles: after every write the file is whole, keeps the rules of its style, and lacks no word") {
  const TemporaryFolder folder;
  const std::vector<CaptionUpdate> updates = told(lecture(40));
  for (const Format format : {Format::srt, Format::vtt}) {
    const std::string path = folder.path() + "/new/live." + std::string(extension(format));
    std::string content, before;
    SubtitleOutput output(path, format, {});
    check_whole(file_content(path), format, 0);
    for (const CaptionUpdate& update : updates) {
      output.update(update);
      output.level(update.heard_s, -20, true);
      content = file_content(path);
      REQUIRE(content.starts_with(before));  // what stands, stands
      if (content != before) check_whole(content, format, count_arrows(content));
      before = content;
    }
    output.finish();
    content = file_content(path);
    CHECK(content.starts_with(before));
    check_whole(content, format, count_arrows(content));
    const CueFile file = parse_cue_file(content);
    CHECK(shown_text(file) == said(updates, format));
    for (const Breach& breach : check_cues(file, resolve(broadcast(), "en"), "en", 0)) {
      CAPTURE(breach.what);
      CAPTURE(breach.line);
      CHECK(!breach.hard);
    }
  }
}

TEST_CASE("growing subtitles: no cue crosses a page, so that a write can't be cut inside of one") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/live.srt";
  SubtitleOutput output(path, Format::srt, {});
  for (const CaptionUpdate& update : told(lecture(300))) output.update(update);
  output.finish();
  const std::string content = file_content(path);
  REQUIRE(content.size() > 5 * 4096);
  for (size_t cut = 4096; cut < content.size(); cut += 4096) {
    const std::string first = content.substr(0, cut);
    check_whole(first, Format::srt, count_arrows(first));
  }
}

TEST_CASE("growing subtitles: a sentence that goes on is there before it ends, a pause is not waited for again") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/live.srt";
  SubtitleOutput output(path, Format::srt, {});
  std::string endless;
  for (int i = 0; i < 200; ++i) endless += "word and another" + std::to_string(i) + " ";
  double latest_s = 0;  // what is missing in the file, at most
  std::string so_far;
  for (const CaptionUpdate& update : told({endless})) {
    output.update(update);
    const CueFile file = parse_cue_file(file_content(path));
    const double until_s = file.cues.empty() ? 1 : static_cast<double>(file.cues.back().end_ms) / 1000;
    latest_s = std::max(latest_s, update.heard_s - until_s);
  }
  CHECK(latest_s < 22);  // two of the longest cues, the one whose end is open, and what is in the tail
  CHECK(!parse_cue_file(file_content(path)).cues.empty());

  LiveCues cues({});
  const std::vector<CaptionUpdate> one = told({"Good morning."});
  std::vector<Cue> ready;
  for (const CaptionUpdate& update : one)
    for (Cue& cue : cues.take(update)) ready.push_back(std::move(cue));
  CHECK(ready.empty());  // there may be more to come at once
  for (Cue& cue : cues.heard(10)) ready.push_back(std::move(cue));
  REQUIRE(ready.size() == 1);
  CHECK(text_of(ready[0]) == "Good morning.");
  CHECK(ready[0].end_ms - ready[0].start_ms >= 833);  // time to read it
}

TEST_CASE("growing subtitles: words at the same time, out of order, empty or of bytes that are no text do no harm") {
  LiveCues cues({});
  std::vector<Cue> ready;
  const auto take = [&](CaptionUpdate update) {
    for (Cue& cue : cues.take(update)) ready.push_back(std::move(cue));
  };
  take({.heard_s = 5, .committed = {{3, 3, " One.", 1}, {3, 3, " Two.", 1}, {2, 1, " Three.", 1}}, .ends_utterance = true});
  take({.heard_s = 5, .committed = {{3, 3, "", 1}, {3, 3, " ", 1}}, .ends_utterance = true});
  take({.heard_s = 5, .committed = {{3, 3, "\x1b[31m\xff\n\n9 --> 1", 1}}, .ends_utterance = true});
  take({.heard_s = 6, .committed = {{3.1, 3.2, " Vier.", 1}}, .ends_utterance = true, .language = "de"});
  take({.heard_s = 6, .ends_utterance = true});
  for (Cue& cue : cues.finish()) ready.push_back(std::move(cue));
  int64_t free_ms = 0;
  std::string text;
  for (const Cue& cue : ready) {
    CHECK(cue.start_ms >= free_ms);
    CHECK(cue.end_ms > cue.start_ms);
    free_ms = cue.end_ms + 80;
    text += text_of(cue) + " ";
  }
  CHECK(text.find("One.") != text.npos);
  CHECK(text.find("Vier.") != text.npos);
  CHECK(text.find('\x1b') == text.npos);
}

TEST_CASE("growing subtitles: lines are as wide as the language's style has them") {
  LiveCues cues({});
  std::vector<Word> words;
  double at_s = 0;
  for (int i = 0; i < 120; ++i, at_s += 0.25)
    words.push_back({at_s, at_s + 0.2, i % 15 == 14 ? "。" : i % 2 ? "字" : "幕", 0.9f});
  std::vector<Cue> ready;
  for (size_t i = 0; i < words.size(); ++i)
    for (Cue& cue : cues.take({.heard_s = words[i].end_s, .committed = {words[i]}, .language = "zh"}))
      ready.push_back(std::move(cue));
  for (Cue& cue : cues.finish()) ready.push_back(std::move(cue));
  REQUIRE(ready.size() > 3);
  for (const Cue& cue : ready)
    for (const CueLine& line : cue.lines) CHECK(size_of(text_of(line)).columns <= 32);
}

TEST_CASE("growing subtitles: options that live cues can't have are refused in a sentence") {
  CHECK_THROWS_AS(LiveCues({.style = "plain"}), Error);
  CHECK_THROWS_AS(LiveCues({.style = "whisper"}), Error);
  CHECK_THROWS_AS(LiveCues({.highlight_words = true}), Error);
  CHECK_THROWS_AS(LiveCues({.style = "nothing"}), Error);
  CHECK_NOTHROW(LiveCues({.columns = 37}));
  const TemporaryFolder folder;
  CHECK_THROWS_AS(SubtitleOutput("/dev/null/x.srt", Format::srt, {}), Error);
  CHECK_THROWS_AS(JsonOutput(folder.path()), Error);
}

// The writer is killed at many moments; the reader that watches it never sees a part of a cue either.
TEST_CASE("growing subtitles survive kill -9 whenever it comes") {
  const TemporaryFolder folder;
  const std::vector<CaptionUpdate> updates = told(lecture(12));
  size_t most = 0;
  for (int round = 0; round < 12; ++round) {
    const std::string srt = folder.path() + "/killed.srt", vtt = folder.path() + "/killed.vtt";
    std::filesystem::remove(srt);
    std::filesystem::remove(vtt);
    const pid_t child = fork();
    if (child == 0) {
      SubtitleOutput one(srt, Format::srt, {}), two(vtt, Format::vtt, {});
      for (;;)
        for (CaptionUpdate update : updates) {
          one.update(update);
          two.update(update);
        }
    }
    REQUIRE(child > 0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(7 * round + 3);
    std::string seen;
    while (std::chrono::steady_clock::now() < until)
      if (std::string now = file_content(vtt); now.size() > seen.size()) {
        check_whole(now, Format::vtt, count_arrows(now));
        seen = std::move(now);
      }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const auto& [path, format] : {std::pair{srt, Format::srt}, {vtt, Format::vtt}}) {
      if (!std::filesystem::exists(path)) continue;
      const std::string content = file_content(path);
      check_whole(content, format, count_arrows(content));
      most = std::max(most, count_arrows(content));
    }
  }
  CHECK(most > 0);
}

TEST_CASE("a full disk: the file stays whole, the trouble is told once, and nothing is missing when there is room again") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/full.srt";
  const std::vector<CaptionUpdate> updates = told(lecture(24));
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_signal = std::signal(SIGXFSZ, SIG_IGN);
  SubtitleOutput output(path, Format::srt, {});
  int troubles = 0;
  for (size_t i = 0; i < updates.size(); ++i) {
    if (i == updates.size() / 3) {
      const rlimit full = {file_content(path).size() + 20, before.rlim_max};  // room for a part of a cue
      setrlimit(RLIMIT_FSIZE, &full);
    }
    if (i == updates.size() * 2 / 3) setrlimit(RLIMIT_FSIZE, &before);
    try {
      output.update(updates[i]);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(path) != std::string::npos);
      ++troubles;
    }
    const std::string content = file_content(path);
    check_whole(content, Format::srt, count_arrows(content));
  }
  output.finish();
  std::signal(SIGXFSZ, old_signal);
  CHECK(troubles == 1);
  CHECK(shown_text(parse_cue_file(file_content(path))) == said(updates, Format::srt));
}

TEST_CASE("JSON lines: each committed word once, in order, with its times; partial ones only when they change") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/live.jsonl";
  const std::vector<CaptionUpdate> updates = told(lecture(8));
  JsonOutput output(path);
  for (const CaptionUpdate& update : updates) {
    output.update(update);
    output.update({.heard_s = update.heard_s + 0.01, .tail = update.tail, .language = update.language});  // nothing new
  }
  output.notice(99, "The microphone\nis gone \x1b[2J\xff.");
  output.level(120, -30, false);
  output.finish();
  std::istringstream lines(file_content(path));
  std::string committed, last_partial, kind, before;
  double at_s = 0;
  for (std::string line; std::getline(lines, line); before = line) {
    const json event = json::parse(line);
    CHECK(line != before);
    kind = event["event"];
    if (kind == "committed") {
      for (const json& word : event["words"]) {
        CHECK(word["start"] >= at_s);
        at_s = word["start"];
        committed += word["word"];
      }
      CHECK(event["language"] == "en");
      CHECK(event["ends_utterance"].is_boolean());
    } else if (kind == "partial") {
      CHECK(event["text"] != last_partial);
      last_partial = event["text"];
    } else if (kind == "notice") {
      CHECK(event["text"] == "The microphone is gone  [2J\uFFFD.");
    }
    if (kind == "committed") last_partial.clear();
  }
  std::string all;
  for (const CaptionUpdate& update : updates) all += text_of(update.committed);
  CHECK(committed == all);
  CHECK(kind == "end");
  CHECK(json::parse(before)["heard"] == 120);
}

TEST_CASE("lines: one for each sentence, there as soon as the next one begins or the speaker pauses") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/live.txt";
  LineOutput output(path);
  const auto n_lines = [&] {
    const std::string content = file_content(path);
    return std::count(content.begin(), content.end(), '\n');
  };
  output.update({.committed = spoken("One sentence. Another one, and", 1), .tail = spoken("then", 4)});
  CHECK(file_content(path) == "[00:01.000 --> 00:01.760] One sentence.\n");
  output.update({.committed = spoken("then the U.S.", 4), .tail = spoken("troops came.", 5)});
  CHECK(n_lines() == 1);
  output.update({.committed = spoken("troops came.", 5), .tail = spoken("Next", 7)});  // the tail shows that it is over
  CHECK(n_lines() == 2);
  output.update({.committed = spoken("without an end", 7), .ends_utterance = true});
  CHECK(n_lines() == 3);
  output.update({.committed = spoken("never told", 9)});
  output.finish();
  CHECK(file_content(path).ends_with("] never told\n"));
}

namespace {

struct Slow : CaptionOutput {
  std::atomic<bool>& open;
  std::string& text;
  int& n_levels;
  Slow(std::atomic<bool>& open, std::string& text, int& n_levels) : open(open), text(text), n_levels(n_levels) {}
  void wait() const {
    while (!open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void update(const CaptionUpdate& update) override {
    wait();
    text += text_of(update.committed);
  }
  void level(double, float, bool) override { wait(), ++n_levels; }
  void notice(double, const std::string& sentence) override { wait(), text += '[' + sentence + ']'; }
  void finish() override { text += "."; }
};

struct Failing : CaptionOutput {
  void update(const CaptionUpdate&) override { throw Error("no room"); }
  void level(double, float, bool) override {}
  void notice(double, const std::string&) override { throw Error("no room for this either"); }
  void finish() override { throw Error("the end is missing"); }
};

}  // namespace

TEST_CASE("an output that is stopped holds up neither the captions nor the others, and lacks nothing later") {
  std::atomic<bool> closed = false, open = true;
  std::string slow, quick;
  int slow_levels = 0, quick_levels = 0;
  std::vector<std::unique_ptr<CaptionOutput>> outputs;
  outputs.push_back(std::make_unique<Slow>(closed, slow, slow_levels));
  outputs.push_back(std::make_unique<Slow>(open, quick, quick_levels));
  FanOut all(std::move(outputs));
  const std::vector<CaptionUpdate> updates = told(lecture(20));
  const auto start = std::chrono::steady_clock::now();
  std::string expected;
  for (const CaptionUpdate& update : updates) {
    all.update(update);
    for (int i = 0; i < 20; ++i) all.level(update.heard_s, -20, true);
    expected += text_of(update.committed);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
  closed = true;
  all.finish();
  CHECK(quick == expected + ".");
  CHECK(slow == expected + ".");
  CHECK(slow_levels <= static_cast<int>(updates.size()));
}

TEST_CASE("what goes wrong with one output is told by the others, once, and at the end to whoever asked for it") {
  std::atomic<bool> open = true;
  std::string text;
  int levels = 0;
  std::vector<std::unique_ptr<CaptionOutput>> outputs;
  outputs.push_back(std::make_unique<Failing>());
  outputs.push_back(std::make_unique<Failing>());
  outputs.push_back(std::make_unique<Slow>(open, text, levels));
  FanOut all(std::move(outputs));
  all.update({.committed = spoken("Hello", 1)});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK_THROWS_WITH_AS(all.finish(), "the end is missing", Error);
  CHECK(text.find("[no room]") != text.rfind("[no room]"));  // one from each
  CHECK(text.find("either") == text.npos);
}
