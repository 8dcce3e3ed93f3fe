// Subtitle files: read as players read them, checked against a style, moved in time, spliced; and JSON laid out again.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/error.h"
#include "program.h"
#include "src/subtitles/check.h"
#include "src/subtitles/cue_file.h"
#include "src/subtitles/retime.h"
#include "src/subtitles/shots.h"
#include "src/subtitles/style.h"
#include "src/subtitles/whisper_lines.h"
#include "test_models.h"

using namespace sotto;

namespace {

const std::string kSrt =
    "1\n00:00:01,000 --> 00:00:02,500\nFirst line\nand second.\n\n"
    "2\n00:00:03,000 --> 00:00:05,000\n<i>Third</i> line.\n\n";

std::vector<std::string> hard_breaches(const std::string& content, int64_t duration_ms = 0) {
  const CueFile file = parse_cue_file(content);
  std::vector<std::string> all;
  for (const Breach& breach : check_cues(file, resolve({}, "en"), "en", duration_ms))
    if (breach.hard) all.push_back(std::to_string(breach.line) + ": " + breach.what);
  return all;
}

std::vector<std::string> soft_breaches(const std::string& content) {
  const CueFile file = parse_cue_file(content);
  std::vector<std::string> all;
  for (const Breach& breach : check_cues(file, resolve({}, "en"), "en", 0))
    if (!breach.hard) all.push_back(std::to_string(breach.line) + ": " + breach.what);
  return all;
}

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& content) {
  const std::string path = folder.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace

TEST_CASE("SRT and WebVTT come back as they were") {
  CHECK(write_cue_file(parse_cue_file(kSrt)) == kSrt);
  const std::string vtt =
      "WEBVTT - talk\nKind: captions\n\nSTYLE\n::cue { color: white }\n\n"
      "intro\n00:00:01.000 --> 00:00:02.000 line:0 align:left\n<v Ann>Hello <00:00:01.500>you\n\n"
      "NOTE for nobody\n\n00:00:03.000 --> 00:00:04.000\nThere.\n\n";
  CHECK(write_cue_file(parse_cue_file(vtt)) == vtt);
  const CueFile file = parse_cue_file(vtt);
  REQUIRE(file.cues.size() == 2);
  CHECK(file.cues[0].name == "intro");
  CHECK(file.cues[0].settings == " line:0 align:left");
  CHECK(shown(file.cues[0].text[0], CueFormat::vtt) == "Hello you");
}

TEST_CASE("what players accept is read: no numbers, loose times, blank lines in a text, a missing one between cues") {
  const CueFile file = parse_cue_file(
      "0:0:1.5-->0:0:2,25  X1:5\nOne\n\nstill one\n7\n00:00:03,000 --> 100:00:04,000\nTwo\n\n\n\n3\n01:02 --> 01:03.5\nThree");
  REQUIRE(file.cues.size() == 3);
  CHECK(file.cues[0].start_ms == 1500);
  CHECK(file.cues[0].end_ms == 2250);
  CHECK(file.cues[0].text == std::vector<std::string>{"One", "", "still one"});
  CHECK(file.cues[1].name == "7");
  CHECK(file.cues[1].end_ms == 360004000);
  CHECK(file.cues[2].start_ms == 62000);
  CHECK(file.cues[2].text == std::vector<std::string>{"Three"});
  CHECK(parse_cue_file("x --> y\n\n00:01 --> 00:02\nz").bad_lines.at(0).line == 1);
  CHECK(shown("{\\an8}<b>a</b> < b &amp; <3", CueFormat::srt) == "a < b &amp; <3");
  CHECK(shown("a &lt; b &amp;&amp; c", CueFormat::vtt) == "a < b && c");
}

TEST_CASE("every hard rule is found broken, at its line") {
  CHECK(hard_breaches(kSrt).empty());
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:02,000\n" + std::string(43, 'x') + "\n") ==
        std::vector<std::string>{"3: 43 columns, 42 at most"});
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:02,000\na\nb\nc\n") == std::vector<std::string>{"2: 3 lines, 2 at most"});
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:09,000\na\n") ==
        std::vector<std::string>{"2: it stays for 8.000 s, 7.000 s at most"});
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00:02,040 --> 00:00:03,000\nb\n") ==
        std::vector<std::string>{"6: the gap before it is 0.040 s, 0.080 s at least"});
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00:01,500 --> 00:00:03,000\nb\n") ==
        std::vector<std::string>{"6: it begins 0.500 s before the cue above it ends"});
  CHECK(hard_breaches("1\n00:00:02,000 --> 00:00:01,000\na\n") == std::vector<std::string>{"2: it ends before it begins"});
  CHECK(hard_breaches("1\n00:00:01,000 --> 00:00:02,000\n\n").size() == 1);
  CHECK(hard_breaches(kSrt, 4000) == std::vector<std::string>{"7: it ends 1.000 s behind the end of the sound"});
}

TEST_CASE("soft rules: reading speed, a moment too short, a line that leans on the next, numbers") {
  CHECK(soft_breaches(kSrt).empty());
  CHECK(soft_breaches("1\n00:00:01,000 --> 00:00:01,500\nabc\n") ==
        std::vector<std::string>{"2: it stays for 0.500 s, 0.834 s at least"});
  CHECK(soft_breaches("1\n00:00:01,000 --> 00:00:02,000\n" + std::string(34, 'x') + "\n") ==
        std::vector<std::string>{"2: 34.0 characters a second, 17 at most"});
  CHECK(soft_breaches("1\n00:00:01,000 --> 00:00:03,000\nWe went to the\ngreen house.\n") ==
        std::vector<std::string>{"3: the last word belongs to the next line"});
  CHECK(soft_breaches("2\n00:00:01,000 --> 00:00:03,000\na\n") == std::vector<std::string>{"2: the number is 2, not 1"});
}

TEST_CASE("retime: shift, two anchors, frame rates") {
  CueFile file = parse_cue_file(kSrt);
  CHECK(retime(file, {1, 2000}) == 0);
  CHECK(file.cues[0].start_ms == 3000);
  CHECK(retime(file, {1, -6000}) == 1);  // the first cue would have ended at -1.5 s
  CHECK(file.cues.size() == 1);
  CHECK(file.cues[0].start_ms == 0);

  const Anchor anchors[] = {{10000, 20000}, {20000, 40000}};
  CHECK(through(anchors)(15000) == 30000);
  CHECK(through({anchors, 1})(15000) == 25000);
  const Anchor twice[] = {{10000, 20000}, {10000, 30000}};
  CHECK_THROWS_AS(through(twice), Error);
}

TEST_CASE("a stretch is as wide as its cues, and what is put there keeps off its neighbours") {
  CueFile file = parse_cue_file(kSrt + "3\n00:00:06,000 --> 00:00:08,000\nLast.\n\n");
  const Stretch stretch = widened(file, {4000, 4500});
  CHECK(stretch.start_ms == 3000);
  CHECK(stretch.end_ms == 5000);
  const std::vector<FileCue> added = {{.start_ms = 2400, .end_ms = 4000, .text = {"New,"}},
                                      {.start_ms = 4100, .end_ms = 6500, .text = {"newer."}}};
  splice(file, stretch, added, 80);
  CHECK(write_cue_file(file) ==
        "1\n00:00:01,000 --> 00:00:02,500\nFirst line\nand second.\n\n2\n00:00:02,580 --> 00:00:04,000\nNew,\n\n"
        "3\n00:00:04,100 --> 00:00:05,920\nnewer.\n\n4\n00:00:06,000 --> 00:00:08,000\nLast.\n\n");
}

TEST_CASE("openai-whisper's lines: filled by width, by number of words, by count; a word marked at a time") {
  Transcript t;
  Segment& segment = t.segments.emplace_back();
  segment.text = " And so, my fellow Americans, ask not what";
  double at_s = 0;
  for (const char* word : {" And", " so,", " my", " fellow", " Americans,", " ask", " not", " what"}) {
    segment.words.push_back({at_s, at_s + 0.25, word, 1});
    at_s += 0.5;
  }
  segment.end_s = at_s;
  const auto texts = [&](const SubtitleOptions& options) {
    std::string all;
    for (const Cue& cue : whisper_cues(t, options)) all += text_of(cue) + "|";
    return all;
  };
  CHECK(texts({}) == "And so, my fellow Americans, ask not what|");
  CHECK(texts({.columns = 18}) == "And so, my fellow\nAmericans, ask not\nwhat|");
  CHECK(texts({.columns = 18, .lines = 2}) == "And so, my fellow\nAmericans, ask not|what|");
  CHECK(texts({.words_per_line = 3}) == "And so, my|fellow Americans, ask|not what|");
  CHECK(texts({.columns = 1000, .lines = 1}) == "And so, my fellow Americans, ask not what|");
  segment.words[5].start_s += 3;  // a pause
  CHECK(texts({.columns = 1000, .lines = 1}) == "And so, my fellow Americans,|ask not what|");

  const auto marked = with_each_word_marked(whisper_cues(t, {}));
  CHECK(marked[0].start_ms == 0);
  CHECK(marked[0].end_ms == 250);
  CHECK(marked[0].lines[0][0].marked);
  CHECK_FALSE(marked[1].lines[0][0].marked);  // a pause between two words
  CHECK(marked[2].lines[0][1].marked);
  for (size_t i = 1; i < marked.size(); ++i) CHECK(marked[i].start_ms == marked[i - 1].end_ms);
}

TEST_CASE("cuts: read from a file, found in a video") {
  const TemporaryFolder folder;
  const auto cuts = read_cuts_ms(written(folder, "cuts", "# cuts\n83.4\n\n00:00:05.5 a street\n"));
  CHECK(cuts == std::vector<int64_t>{5500, 83400});
  CHECK_THROWS_AS(read_cuts_ms(written(folder, "bad", "street\n")), Error);

  const std::string video = folder.path() + "/three colours: a \"test\".mkv";
  const std::string make =
      "ffmpeg -v error -f lavfi -i color=red:s=160x90:d=1:r=25 -f lavfi -i testsrc=s=160x90:d=1.2:r=25 -f lavfi -i "
      "color=white:s=160x90:d=1:r=25 -filter_complex '[0][1][2]concat=n=3,setsar=1' '" + video + "'";
  if (std::system(make.c_str()) != 0) {
    MESSAGE("skipped: there is no ffmpeg to make a video with");
    return;
  }
  CHECK(find_cuts_ms(video, false) == std::vector<int64_t>{1000, 2200});
  CHECK_THROWS_AS(find_cuts_ms(written(folder, "text.mkv", "no video"), false), Error);
}

TEST_CASE("the program: layout from JSON, check, retime") {
  const TemporaryFolder folder;
  const std::string transcript = written(folder, "talk.json", R"({"language": "en", "duration": 9, "segments": [{"start": 0,
      "end": 4, "text": " Well, here we are again.", "words": [{"word": " Well,", "start": 0.5, "end": 1}, {"word": " here",
      "start": 1, "end": 1.5}, {"word": " we", "start": 1.5, "end": 2}, {"word": " are", "start": 2, "end": 2.5},
      {"word": " again.", "start": 2.5, "end": 4}]}]})");
  const Ran laid_out = run_sotto("subtitles " + transcript + " -o -");
  CHECK(laid_out.status == 0);
  CHECK(laid_out.out == "1\n00:00:00,500 --> 00:00:04,000\nWell, here we are again.\n\n");
  CHECK(run_sotto("subtitles - -o - -f vtt --max_words_per_line 2", "cat " + transcript).out.find("\nWell, here\n") !=
        std::string::npos);
  CHECK(run_sotto("subtitles " + transcript + " -o - --highlight_words True --quiet").out.find("<u>Well,</u> here we") !=
        std::string::npos);
  CHECK(run_sotto("subtitles " + transcript + " -o " + folder.path() + " -f srt,vtt").status == 0);
  CHECK(std::filesystem::exists(folder.path() + "/talk.vtt"));
  const std::string srt = folder.path() + "/talk.srt";
  CHECK(run_sotto("check " + srt + " --duration 9").status == 0);
  const Ran late = run_sotto("check " + srt + " --duration 3");
  CHECK(late.status == 1);
  CHECK(late.out.starts_with(srt + ":2: error: it ends 1.000 s behind"));
  CHECK(run_sotto("retime " + srt + " --shift -00:00:00.5").out.find("00:00:00,000 --> 00:00:03,500") != std::string::npos);
  CHECK(run_sotto("retime " + srt + " --fps 25:50 -o " + srt).status == 0);
  CHECK(file_content(srt).find("00:00:00,250 --> 00:00:02,000") != std::string::npos);
  CHECK(run_sotto("retime " + srt).status == 2);
  const std::string damaged = written(folder, "damaged.srt", "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n"
                                      "00;00;03,000 --> 00;00;04,000\nTwo.\n");
  CHECK(run_sotto("retime " + damaged + " --shift 1").err.find("damaged.srt:6: the times can't be read") != std::string::npos);
  for (const std::string wrong : {"{\"segments\":5}", "{\"segments\":[{\"start\":\"a\",\"end\":2,\"text\":\"x\"}]}", "[]",
                                  "{\"segments\":[7]}", "{\"segments\":[{\"start\":0,\"end\":2,\"text\":5}]}"}) {
    CAPTURE(wrong);
    CHECK(run_sotto("subtitles " + written(folder, "wrong.json", wrong) + " -o -").status == 1);
  }
  CHECK(run_sotto("retime " + srt + " --shift 1 -o " + folder.path() + "/talk.vtt").err.find("its format stays") !=
        std::string::npos);
  const std::string named_so = written(folder, "a.srt", file_content(transcript));
  CHECK(run_sotto("subtitles " + named_so + " -o " + folder.path()).status == 1);
  CHECK(file_content(named_so) == file_content(transcript));
  CHECK(run_sotto("view " + transcript + " --audio " + srt + " -o " + transcript).status == 1);
  CHECK(run_sotto("align " + named_so + " " + srt + " -f srt -o " + named_so).err.find("which it is made from") !=
        std::string::npos);
  CHECK(run_sotto("check " + transcript).status == 1);
  CHECK(run_sotto("subtitles " + srt).err.find("not a transcript in JSON") != std::string::npos);
  CHECK(run_sotto("a.wav --redo 5-2 " + srt).err.find("ends before it begins") != std::string::npos);
}

TEST_CASE("from sound: subtitles that keep the rules, and a stretch of them anew") {
  const auto model = test_model("tiny.en");
  const std::string speech = std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-0930.wav";
  if (!model || !std::filesystem::exists(speech)) {
    MESSAGE("skipped: the weights of tiny.en or the speech in " << kTestSpeech << " are not here");
    return;
  }
  const TemporaryFolder folder;
  const std::string options = " --quiet --offline --beam-size 1 --no-vad --model " + *model + " " + speech;
  CHECK(run_sotto("-f srt -o " + folder.path() + options).status == 0);
  const std::string srt = folder.path() + "/sense_and_sensibility_01_austen_64kb-0930.srt";
  const std::string before = file_content(srt);
  CHECK(before.find("He might even have been made\namiable himself.") != std::string::npos);
  CHECK(run_sotto("check --duration 3.3 " + srt).status == 0);

  std::ofstream(srt) << "1\n00:00:00,000 --> 00:00:03,000\nNonsense.\n\n2\n00:01:00,000 --> 00:01:02,000\nThe end.\n\n";
  CHECK(run_sotto("--redo 1-2 " + srt + options).status == 0);
  const std::string after = file_content(srt);
  CHECK(after.find("amiable himself.") != std::string::npos);
  CHECK(after.find("Nonsense.") == std::string::npos);
  CHECK(after.find("\n2\n00:01:00,000 --> 00:01:02,000\nThe end.\n") != std::string::npos);
}
