// Subtitle files in every format that can be read: what is read, what is said about bad lines, and that a change of times
// leaves the rest as it was.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/error.h"
#include "src/subtitles/check.h"
#include "src/subtitles/cue_file.h"
#include "src/subtitles/layout.h"
#include "src/subtitles/retime.h"
#include "src/writers.h"
#include "tests/program.h"
#include "tests/temporary.h"

using namespace sotto;

namespace {

const char kAss[] =
    "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Sign,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    "Comment: 0,0:00:00.00,0:00:09.00,Sign,,0,0,0,,not shown\n"
    "Dialogue: 0,0:00:01.00,0:00:03.00,Sign,Ann,10,0,0,,{\\an8}{\\k100}One, {\\k50}two\\N{\\k50}\\{three\\}\n"
    "Dialogue: 0,0:00:01.00,0:00:03.00,Sign,,0,0,0,,{\\p1}m 0 0 l 100 0\n"
    "Dialogue: 0,0:00:04.00,0:00:05.50,Sign,,0,0,0,,Four\n";

const char kTtml[] =
    "<?xml version=\"1.0\"?>\n<!-- made by hand -->\n"
    "<tt:tt xmlns:tt=\"http://www.w3.org/ns/ttml\" xmlns:ttp=\"http://www.w3.org/ns/ttml#parameter\" ttp:frameRate=\"25\">\n"
    "  <tt:body begin=\"10s\">\n    <tt:div>\n"
    "      <tt:p begin=\"00:00:01:05\" end=\"00:00:03\" xml:id=\"a\">One &amp; <tt:span begin=\"0.5s\">two</tt:span>"
    "<tt:br/>three</tt:p>\n"
    "      <tt:p begin=\"4500ms\" dur=\"50f\">Four</tt:p>\n"
    "      <tt:p begin=\"soon\" end=\"later\">Five</tt:p>\n"
    "    </tt:div>\n  </tt:body>\n</tt:tt>\n";

std::vector<std::string> shown_lines(const CueFile& file, size_t i) {
  std::vector<std::string> lines;
  for (const std::string& line : file.cues.at(i).text) lines.push_back(shown(line, file.format));
  return lines;
}

std::string moved_by(const std::string& content, double factor, double shift_ms) {
  CueFile file = parse_cue_file(content);
  const TimeMap map{factor, shift_ms};
  retime(file, map);
  return write_cue_file(file, map);
}

Transcript two_sentences() {
  Transcript t;
  t.language = "en";
  t.duration_s = 20;
  t.segments.push_back({.id = 0, .start_s = 1, .end_s = 3, .text = " Well, here we are.",
                        .words = {{1, 1.5, " Well,", 1}, {1.5, 2, " here", 1}, {2, 2.5, " we", 1}, {2.5, 3, " are.", 1}}});
  t.segments.push_back({.id = 1, .start_s = 8, .end_s = 10, .text = " So, \"fine\" & good.",
                        .words = {{8, 8.5, " So,", 1}, {8.5, 9, " \"fine\"", 1}, {9, 9.5, " &", 1}, {9.5, 10, " good.", 1}}});
  return t;
}

}  // namespace

TEST_CASE("every format that is written and has cues is read again, with its times and texts") {
  const Transcript t = two_sentences();
  for (const bool karaoke : {false, true})
    for (const std::string name : {"srt", "vtt", "ass", "ttml", "sbv", "lrc", "tsv", "csv"}) {
      CAPTURE(name);
      const std::string content = render(t, lay_out(t, {}), parse_formats(name)[0], karaoke);
      const CueFile file = parse_cue_file(content);
      CHECK(extension_of(file.format) == name);
      CHECK(file.bad_lines.empty());
      REQUIRE(file.cues.size() == 2);
      CHECK(file.cues[0].start_ms == 1000);
      CHECK(file.cues[1].start_ms == 8000);
      CHECK(shown_lines(file, 0) == std::vector<std::string>{"Well, here we are."});
      CHECK(shown_lines(file, 1) == std::vector<std::string>{"So, \"fine\" & good."});
      CHECK(moved_by(moved_by(content, 1, 2500), 1, -2500) == moved_by(content, 1, 0));
      CHECK(write_cue_file(file).find("Well,") != std::string::npos);
      const CueFile doubled = parse_cue_file(moved_by(content, 2, 0));
      CHECK(doubled.cues.at(1).start_ms == 16000);
    }
}

TEST_CASE("SubStation Alpha: styles, comments and drawings stay, syllables are stretched with their cue") {
  const CueFile file = parse_cue_file(kAss);
  REQUIRE(file.cues.size() == 2);
  CHECK(file.cues[0].line == 11);
  CHECK(shown_lines(file, 0) == std::vector<std::string>{"One, two", "{three}"});
  CHECK(write_cue_file(file) == kAss);
  std::string wanted = kAss;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"0,0:00:01.00,0:00:03.00,Sign,Ann", "0,0:00:02.00,0:00:06.00,Sign,Ann"}, {"k100", "k200"}, {"k50}two", "k100}two"},
           {"k50}\\{", "k100}\\{"}, {"0:00:04.00,0:00:05.50", "0:00:08.00,0:00:11.00"}})
    wanted.replace(wanted.find(from), from.size(), to);
  CHECK(moved_by(kAss, 2, 0) == wanted);
}

TEST_CASE("TTML: clock, frames and seconds from where what is around begins; the rest of the document stays") {
  const CueFile file = parse_cue_file(kTtml);
  REQUIRE(file.cues.size() == 2);
  CHECK(file.cues[0].start_ms == 11200);
  CHECK(file.cues[0].end_ms == 13000);
  CHECK(file.cues[0].line == 6);
  CHECK(shown_lines(file, 0) == std::vector<std::string>{"One & two", "three"});
  CHECK(file.cues[1].start_ms == 14500);
  CHECK(file.cues[1].end_ms == 16500);
  REQUIRE(file.bad_lines.size() == 1);
  CHECK(file.bad_lines[0].line == 8);
  const std::string moved = moved_by(kTtml, 1, -10000);
  CHECK(moved.find("<!-- made by hand -->") != std::string::npos);
  CHECK(moved.find("<tt:p begin=\"00:00:01.200\" end=\"00:00:03.000\" xml:id=\"a\">One &amp; "
                   "<tt:span begin=\"0.500s\">two") != std::string::npos);
  CHECK(parse_cue_file(moved).cues.at(1).start_ms == 4500);
  CHECK_THROWS_WITH_AS(parse_cue_file("<tt>\n<body>\n<p begin=\"1s\" end=\"2s\">a</q>\n</body></tt>"),
                       doctest::Contains("line 3"), Error);
}

TEST_CASE("what can't be read is named with its line") {
  const auto first_bad = [](const std::string& content) {
    const CueFile file = parse_cue_file(content);
    return file.bad_lines.empty() ? std::string() : std::to_string(file.bad_lines[0].line) + ": " + file.bad_lines[0].what;
  };
  CHECK(first_bad("1\n00:00:01,000 -> 00:00:02,000\na\n") == "2: \"->\" stands where \"-->\" should");
  CHECK(first_bad("1\n00:00:01,000 --> 00:00:02,000\na -> b\n").empty());
  CHECK(first_bad("1\n00:00:01,000 --> 00:00:02,000\n4 > 3\n").empty());
  CHECK(first_bad("1\n00:00:01,000 --> 00:00:02,000\ncaf\xE9\n") == "3: it is not in UTF-8");
  CHECK(first_bad(std::string("1\n00:00:01,000 --> 00:00:02,000\na\0b\n", 36)).starts_with("3: it holds a NUL"));
  CHECK(first_bad("0:00:01.000,0:00:02.000\na\n\n0:00:0x.000,0:00:04.000\nb\n") == "4: it belongs to no subtitle");
  CHECK(first_bad("0:00:01.000,0:00:02.000\na\n\n0:00:03.000,0:00.04.000\nb\n") == "4: the times can't be read");
  CHECK(first_bad("[00:01.00]a\n[00:0:2.5.1]b\n") == "2: the time can't be read");
  CHECK(first_bad("start\tend\ttext\n0\t1000\ta\n1.5\t2000\tb\n") == "3: the times can't be read as whole milliseconds");
  CHECK(first_bad("start,end,text\n0,1000,\"a\nb\"\n2000,3000\n") == "4: it has other fields than the first line");
  CHECK(first_bad(std::string(kAss) + "Dialogue: 0,0:00:06.00\n") == "14: it has too few fields");
  CHECK(parse_cue_file("1\n00:00:01,000 -> 00:00:02,000\na\n").cues.size() == 1);
  bool told = false;
  for (const Breach& breach : check_cues(parse_cue_file("1\n00:00:01,000 -> 00:00:03,000\na\n"), resolve({}, "en"), "en", 0))
    told = told || (breach.hard && breach.line == 2);
  CHECK(told);
}

TEST_CASE("a stretch put into a file has the looks of what was there") {
  CueFile file = parse_cue_file(kAss);
  const Transcript t = two_sentences();
  const CueFile made = parse_cue_file(render(t, lay_out(t, {}), Format::ass));
  std::vector<FileCue> added = {in_shape_of(file, &file.cues[0], made, made.cues[0])};
  splice(file, {500, 3500}, added, 80);
  const std::string ass = write_cue_file(file);
  CHECK(ass.find(",Sign,,10,0,0,,Well, here we are.\n") != std::string::npos);
  CHECK(ass.find("One, ") == std::string::npos);
  CHECK(ass.find("Comment: 0") < ass.find("Well"));
  CHECK(ass.find("{\\p1}") < ass.find("Four"));

  CueFile ttml = parse_cue_file(kTtml);
  const CueFile made_ttml = parse_cue_file(render(t, lay_out(t, {}), Format::ttml));
  added = {in_shape_of(ttml, &ttml.cues[0], made_ttml, made_ttml.cues[0])};
  splice(ttml, {0, 13500}, added, 80);
  const CueFile again = parse_cue_file(write_cue_file(ttml));
  REQUIRE(again.cues.size() == 2);
  CHECK(shown_lines(again, 0) == std::vector<std::string>{"Well, here we are."});
  CHECK(again.cues[0].start_ms == 1000);
  CHECK(again.cues[1].start_ms == 14500);
}

TEST_CASE("retime: what stood above a cue that goes stays; a file of which nothing is left isn't written") {
  const std::string vtt = "WEBVTT\n\nNOTE first\n\n00:00:01.000 --> 00:00:02.000\na\n\n00:00:05.000 --> 00:00:06.000\nb\n\n";
  CueFile file = parse_cue_file(vtt);
  CHECK(retime(file, {1, -3000}) == 1);
  CHECK(write_cue_file(file).starts_with("WEBVTT\n\nNOTE first\n\n00:00:02.000 --> "));
  const TemporaryFolder folder;
  write_file(folder.path() + "/a.vtt", vtt);
  const Ran all = run_sotto("retime " + folder.path() + "/a.vtt --shift -100 -o " + folder.path() + "/b.vtt");
  CHECK(all.status == 1);
  CHECK(all.err.find("all 2 cues") != std::string::npos);
  const Ran some = run_sotto("retime " + folder.path() + "/a.vtt --shift -3");
  CHECK(some.status == 0);
  CHECK(some.err.find("1 of 2 cues") != std::string::npos);
}

TEST_CASE("check, retime and subtitles: 2 for what was written wrong, 1 for what went wrong") {
  const TemporaryFolder folder;
  const std::string srt = folder.path() + "/a.srt", missing = folder.path() + "/missing";
  write_file(srt, "1\n00:00:01,000 --> 00:00:03,000\na\n\n");
  for (const std::string& words : std::vector<std::string>{
           "check " + srt + " --language martian", "check " + srt + " --duration long",
                                   "check " + srt + " --style film", "check " + srt + " --shots auto",
                                   "retime " + srt + " --shift soon", "retime " + srt + " --anchor 1=2=3",
                                   "retime " + srt + " --anchor 1=2 --anchor 1=3", "retime " + srt + " --fps 25",
                                   "subtitles a.json -f doc", "subtitles a.json -f json", "align a.wav b.txt -o c.doc",
                                   "a.wav --redo 20-10 " + srt}) {
    CAPTURE(words);
    CHECK(run_sotto(words).status == 2);
  }
  for (const std::string& words : std::vector<std::string>{
           "check " + missing, "check " + srt + " --shots " + missing, "retime " + missing + " --shift 1",
                                   "subtitles " + missing, "a.wav --redo 10-20 " + missing}) {
    CAPTURE(words);
    const Ran ran = run_sotto(words);
    CHECK(ran.status == 1);
    CHECK(ran.err.find("missing can't be opened") != std::string::npos);
  }
  CHECK(run_sotto("check " + srt).status == 0);
  const Ran piped = run_sotto("check -", "printf '1\\n00:00:01,000 --> 00:00:01,000\\na\\n'");
  CHECK(piped.out.find("standard input:2: error") != std::string::npos);
  write_file(folder.path() + "/cuts", "2.0\n");
  CHECK(run_sotto("check " + srt + " --shots " + folder.path() + "/cuts").out.find("the picture changes at 2.000 s") !=
        std::string::npos);
}

TEST_CASE("align: a number alone is a text, although it is JSON, too") {
  const TemporaryFolder folder;
  write_file(folder.path() + "/numbers.txt", "123456789\n");
  const Ran ran = run_sotto("align --offline -m none missing.wav " + folder.path() + "/numbers.txt");
  CHECK(ran.status == 1);
  CHECK(ran.err.find("not a transcript") == std::string::npos);
}
