#include "src/writers.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/error.h"
#include "models/utf8.h"
#include "src/subtitles/layout.h"

using namespace sotto;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<Format> kFormats = parse_formats(format_names());
const std::vector<Format> kWithWholeText = [] {
  std::vector<Format> formats = kFormats;
  std::erase_if(formats, [](Format format) { return format == Format::ctm || format == Format::rttm; });
  return formats;
}();

Segment segment(double start_s, double end_s, std::string text) {
  Segment s;
  s.start_s = start_s;
  s.end_s = end_s;
  s.text = std::move(text);
  return s;
}

Transcript transcript(std::vector<Segment> segments) {
  Transcript t;
  t.audio = "talks/a.wav";
  t.model = "base";
  t.device = "cpu";
  t.language = "en";
  t.duration_s = 12.5;
  t.segments = std::move(segments);
  for (std::size_t i = 0; i < t.segments.size(); ++i) t.segments[i].id = static_cast<int>(i);
  return t;
}

// With openai-whisper's cues.
std::string render(const Transcript& t, Format format) { return render(t, lay_out(t, {.style = "whisper"}), format); }

std::string render_one(const std::string& text, Format format) {
  return render(transcript({segment(1, 2, text)}), format);
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct Folder {  // of its own, gone after the test
  fs::path path = fs::temp_directory_path() / ("sotto-writers-test-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  int files() const { return static_cast<int>(std::distance(fs::directory_iterator(path), {})); }
};

}  // namespace

TEST_CASE("each format as openai-whisper writes it") {
  const Transcript t = transcript({segment(0, 2.5, " And so, my fellow Americans,"), segment(2.5, 7.04, " ask not.")});
  CHECK(render(t, Format::txt) == "And so, my fellow Americans,\nask not.\n");
  CHECK(render(t, Format::srt) ==
        "1\n00:00:00,000 --> 00:00:02,500\nAnd so, my fellow Americans,\n\n"
        "2\n00:00:02,500 --> 00:00:07,040\nask not.\n\n");
  CHECK(render(t, Format::vtt) ==
        "WEBVTT\n\n00:00.000 --> 00:02.500\nAnd so, my fellow Americans,\n\n00:02.500 --> 00:07.040\nask not.\n\n");
  CHECK(render(t, Format::tsv) == "start\tend\ttext\n0\t2500\tAnd so, my fellow Americans,\n2500\t7040\task not.\n");
  CHECK(terminal_line(t.segments[1]) == "[00:02.500 --> 00:07.040] ask not.");
  CHECK(t.text() == "And so, my fellow Americans, ask not.");
}

TEST_CASE("JSON has the reference's keys in its order, and sensible numbers") {
  Segment s = segment(1.8200000000000003, 9.04, " Hi.");
  s.seek = 3000;
  s.tokens = {50364, 2421, 13, 50726};
  s.temperature = 0.2f;
  s.avg_log_prob = -0.2320312f;
  s.compression_ratio = 1.5f;
  s.no_speech_prob = 1e-9f;
  s.words = {{1.82, 2.0600001, " Hi.", 0.9876543f}};
  const Transcript t = transcript({s});
  const std::string line = render(t, Format::jsonl);
  CHECK(line ==
        "{\"text\":\" Hi.\",\"segments\":[{\"id\":0,\"seek\":3000,\"start\":1.82,\"end\":9.04,\"text\":\" Hi.\","
        "\"tokens\":[50364,2421,13,50726],\"temperature\":0.2,\"avg_logprob\":-0.232031,\"compression_ratio\":1.5,"
        "\"no_speech_prob\":0.0,\"words\":[{\"word\":\" Hi.\",\"start\":1.82,\"end\":2.06,\"probability\":0.987654}]}],"
        "\"language\":\"en\",\"audio\":\"talks/a.wav\",\"model\":\"base\",\"device\":\"cpu\","
        "\"duration\":12.5,\"coverage\":[]}\n");
  CHECK(Json::parse(render(t, Format::json)) == Json::parse(line));  // order of keys included
  CHECK(holds(render(t, Format::json), "\n    {\"id\":0,"));          // a line for each segment
}

TEST_CASE("JSON has words in all segments or in none") {
  Transcript t = transcript({segment(0, 1, " a"), segment(1, 1, "")});
  CHECK_FALSE(holds(render(t, Format::json), "\"words\""));
  t.segments[0].words = {{0, 1, " a", 1}};
  const Json with = Json::parse(render(t, Format::json));
  CHECK(with["segments"][0]["words"].size() == 1);
  CHECK(with["segments"][1]["words"] == Json::array());
}

TEST_CASE("JSON stays valid when a number is none") {
  Transcript t = transcript({segment(0, 1, " a")});
  t.segments[0].avg_log_prob = -std::numeric_limits<float>::infinity();
  t.segments[0].no_speech_prob = std::nanf("");
  t.segments[0].start_s = std::nan("");
  const Json json = Json::parse(render(t, Format::json));
  CHECK(json["segments"][0]["avg_logprob"].is_null());
  CHECK(json["segments"][0]["no_speech_prob"].is_null());
  CHECK(json["segments"][0]["start"] == 0.0);
}

TEST_CASE("an empty transcript is a valid file in each format") {
  Transcript t = transcript({});
  t.language = "";
  CHECK(render(t, Format::txt).empty());
  CHECK(render(t, Format::srt).empty());
  CHECK(render(t, Format::vtt) == "WEBVTT\n\n");
  CHECK(render(t, Format::tsv) == "start\tend\ttext\n");
  for (Format format : {Format::json, Format::jsonl}) {
    const Json json = Json::parse(render(t, format));
    CHECK(json["text"] == "");
    CHECK(json["segments"] == Json::array());
    CHECK(json["duration"] == 12.5);
  }
  CHECK(t.text().empty());
}

TEST_CASE("segments without text leave no hole in the numbering") {
  const Transcript t = transcript({segment(0, 1, " one"), segment(1, 1, ""), segment(1, 2, " \u3000\n"),
                                   segment(2, 3, " two")});
  CHECK(render(t, Format::srt) ==
        "1\n00:00:00,000 --> 00:00:01,000\none\n\n2\n00:00:02,000 --> 00:00:03,000\ntwo\n\n");
  CHECK(render(t, Format::vtt) == "WEBVTT\n\n00:00.000 --> 00:01.000\none\n\n00:02.000 --> 00:03.000\ntwo\n\n");
  CHECK(render(t, Format::txt) == "one\ntwo\n");
  CHECK(render(t, Format::tsv) == "start\tend\ttext\n0\t1000\tone\n2000\t3000\ttwo\n");
  CHECK(Json::parse(render(t, Format::json))["segments"].size() == 4);
  CHECK(terminal_line(t.segments[2]).empty());
}

TEST_CASE("times are rounded, carry over, and go beyond 99 hours") {
  const auto srt_times = [](double start_s, double end_s) {
    const std::string srt = render(transcript({segment(start_s, end_s, "x")}), Format::srt);
    return srt.substr(2, srt.find("\nx") - 2);
  };
  CHECK(srt_times(0.0004, 1.9996) == "00:00:00,000 --> 00:00:02,000");
  CHECK(srt_times(0.0196, 59.9996) == "00:00:00,020 --> 00:01:00,000");
  CHECK(srt_times(3599.9994, 3599.9996) == "00:59:59,999 --> 01:00:00,000");
  CHECK(srt_times(359999.999, 360000) == "99:59:59,999 --> 100:00:00,000");
  CHECK(srt_times(4e6, 4e6 + 1.5) == "1111:06:40,000 --> 1111:06:41,500");
  const Segment late = segment(359999.999, 360000, " x");
  CHECK(render(transcript({late}), Format::vtt) == "WEBVTT\n\n99:59:59.999 --> 100:00:00.000\nx\n\n");
  CHECK(render(transcript({late}), Format::tsv) == "start\tend\ttext\n359999999\t360000000\tx\n");
  CHECK(terminal_line(segment(3599, 3601, " x")) == "[59:59.000 --> 01:00:01.000] x");
}

TEST_CASE("no cue ends where it starts or before, or starts before zero") {
  for (Format format : {Format::srt, Format::vtt}) {
    CHECK(holds(render(transcript({segment(5, 4, "x")}), format), format == Format::srt ? "05,000 --> 00:00:05,040"
                                                                                        : "05.000 --> 00:05.040"));
    CHECK(holds(render(transcript({segment(-1, -0.5, "x")}), format), format == Format::srt ? "00,000 --> 00:00:00,040"
                                                                                            : "00.000 --> 00:00.040"));
  }
  CHECK(render(transcript({segment(5, 4, "x")}), Format::tsv) == "start\tend\ttext\n5000\t5000\tx\n");
  const Json json = Json::parse(render(transcript({segment(-1, -2, "x")}), Format::json));
  CHECK(json["segments"][0]["start"] == 0.0);
  CHECK(json["segments"][0]["end"] == 0.0);
}

TEST_CASE("with words, a cue lasts from the first to the last of them") {
  Segment s = segment(0, 5, " one two");
  s.words = {{0.5, 1, " one", 1}, {1, 1.75, " two", 1}};
  CHECK(render(transcript({s}), Format::srt) == "1\n00:00:00,500 --> 00:00:01,750\none two\n\n");
  CHECK(render(transcript({s}), Format::tsv) == "start\tend\ttext\n0\t5000\tone two\n");
}

TEST_CASE("no text can break a file's structure") {
  SUBCASE("an arrow is no line of times") {
    for (const char* arrow : {"a --> b", "a ---> b", "a -------> b"}) {
      CHECK(holds(render_one(arrow, Format::srt), "\na -> b\n"));
      std::string escaped = arrow;
      escaped.replace(escaped.find('>'), 1, "&gt;");
      CHECK(holds(render_one(arrow, Format::vtt), "\n" + escaped + "\n"));
      CHECK(holds(render_one(arrow, Format::txt), arrow));
    }
    CHECK(holds(render_one("a -- > <- b", Format::srt), "\na -- > <- b\n"));
  }
  SUBCASE("markup is text in VTT") {
    CHECK(holds(render_one("<i>R&D</i> &amp; 1 < 2", Format::vtt),
                "\n&lt;i&gt;R&amp;D&lt;/i&gt; &amp;amp; 1 &lt; 2\n"));
    CHECK(holds(render_one("<i>R&D</i>", Format::srt), "\n<i>R&D</i>\n"));
  }
  SUBCASE("tabs, quotes and line ends in TSV") {
    CHECK(render_one(" \"a\",\tb\r\nc\n\nd\u2028e ", Format::tsv) == "start\tend\ttext\n1000\t2000\t\"a\", b c d e\n");
  }
  SUBCASE("no blank line ends a cue too early") {
    CHECK(render_one("\n a\n\n \r\n\tb\r\rc\n", Format::srt) == "1\n00:00:01,000 --> 00:00:02,000\na\nb\nc\n\n");
    CHECK(render_one("\n a\n\n \r\n\tb\r\rc\n", Format::vtt) == "WEBVTT\n\n00:01.000 --> 00:02.000\na\nb\nc\n\n");
    CHECK(render_one("a\n\nb", Format::txt) == "a b\n");
  }
  SUBCASE("control characters reach neither a file nor a terminal") {
    const std::string text("a\0b\x1B[31mc\u009Bd\x7F", 13);
    CHECK(render_one(text, Format::txt) == "a b [31mc d\n");
    CHECK(terminal_line(segment(1, 2, text)) == "[00:01.000 --> 00:02.000] a b [31mc d");
    CHECK(Json::parse(render_one(text, Format::json))["text"] == text);
  }
  SUBCASE("JSON takes any text") {
    const std::string text = " \"quoted\", a\\b,\n\t</script> \u2028";
    CHECK(Json::parse(render_one(text, Format::json))["segments"][0]["text"] == text);
    const std::string line = render_one(text, Format::jsonl);
    CHECK(line.find('\n') == line.size() - 1);
  }
}

TEST_CASE("emoji, joined characters and right-to-left text pass unchanged") {
  for (const std::string text :
       {"👩‍👩‍👧‍👦 🇩🇪 e\u0301", "مرحبا بالعالم", "שלום",
        "你好，世界。", "สวัสดี", "\u200Fabc"}) {
    for (Format format : kWithWholeText) CHECK(holds(render_one(' ' + text, format), text));
    CHECK(terminal_line(segment(1, 2, text)) == "[00:01.000 --> 00:02.000] " + text);
  }
}

TEST_CASE("what is no UTF-8 never reaches a file") {
  Transcript t = transcript({segment(0, 1, " caf\xC3 \xFFok \xED\xA0\x80 \xE2\x99")});
  t.segments[0].words = {{0, 1, " caf\xC3", 1}};
  t.audio = "talks/\xE9t\xE9.wav";
  t.model = t.device = t.language = "\x80";
  for (Format format : kFormats) {
    const std::string out = render(t, format);
    CHECK(out == valid_utf8(out));
    if (std::ranges::count(kWithWholeText, format) > 0) CHECK(holds(out, "caf\uFFFD \uFFFDok"));
  }
  CHECK(holds(terminal_line(t.segments[0]), "caf\uFFFD \uFFFDok"));
  CHECK(Json::parse(render(t, Format::json))["audio"] == "talks/\uFFFDt\uFFFD.wav");
}

TEST_CASE("words with times of their own add up to the cue, however they are rounded") {
  Segment s = segment(1.004, 3.015, " Ah, {so} it is.");
  s.words = {{1.2, 1.5, " Ah,", 0.5f}, {1.5, 1.5, " {so}", 0.25f}, {2.0049, 2.4, " it", 1}, {2.4, 3.4, " is.", 1}};
  const Transcript t = transcript({s});
  const std::vector<Cue> cues = {
      {1004, 3015, {{{1200, 1500, "Ah,"}, {1500, 1500, " {so}"}}, {{2005, 2400, "it"}, {2400, 3400, " is."}}}, ""}};
  CHECK(render(t, cues, Format::vtt, true) ==
        "WEBVTT\n\n00:01.004 --> 00:03.015\n<00:01.200>Ah, <00:01.500>{so}\n<00:02.005>it <00:02.400>is.\n\n");
  CHECK(holds(render(t, cues, Format::ass, true),
              "Dialogue: 0,0:00:01.00,0:00:03.02,Default,,0,0,0,,{\\k20}{\\k30}Ah,{\\k51} \\{so\\}\\N{\\k39}it{\\k62} is.\n"));
  CHECK(render(t, cues, Format::lrc, true) ==
        "[00:01.00]<00:01.20>Ah, <00:01.50>{so} <00:02.01>it <00:02.40>is.\n[00:03.02]\n");
  CHECK(holds(render(t, cues, Format::ttml, true), "<span begin=\"0.196s\">Ah,</span><span begin=\"0.496s\"> {so}</span>"));
  CHECK(render(t, Format::ctm) == "a 1 1.200 0.300 Ah, 0.500\na 1 1.500 0.000 {so} 0.250\na 1 2.005 0.395 it 1.000\n"
                                  "a 1 2.400 1.000 is. 1.000\n");
  CHECK(holds(render(t, Format::textgrid), "xmin = 1.200\n            xmax = 1.500\n            text = \"Ah, {so}\"\n"));
}

TEST_CASE("tables quote what would end a cell, and say who speaks where that is known") {
  Transcript t = transcript({segment(0, 1.5, " \"Yes,\" he said\tthen\n left."), segment(100 * 3600, 100 * 3600 + 1, " No.")});
  CHECK(render(t, Format::csv) ==
        "start,end,text\r\n0,1500,\"\"\"Yes,\"\" he said then left.\"\r\n360000000,360001000,No.\r\n");
  t.segments[1].speaker = "Ann, B";
  CHECK(holds(render(t, Format::csv), "360000000,360001000,\"Ann, B\",No.\r\n"));
  CHECK(render(t, Format::rttm) == "SPEAKER a 1 0.000 1.500 <NA> <NA> speaker <NA> <NA>\n"
                                   "SPEAKER a 2 360000.000 1.000 <NA> <NA> Ann,_B <NA> <NA>\n");
  CHECK(render(t, Format::aud) ==
        "0.000000\t1.500000\t\"Yes,\" he said then left.\n360000.000000\t360001.000000\tAnn, B: No.\n");
}

TEST_CASE("lists of formats") {
  CHECK(parse_formats("srt") == std::vector{Format::srt});
  CHECK(parse_formats("txt, jsonl,txt") == std::vector{Format::txt, Format::jsonl});
  CHECK(parse_formats("all") == std::vector{Format::txt, Format::vtt, Format::srt, Format::tsv, Format::json});
  for (Format format : kFormats) CHECK(parse_formats(extension(format)) == std::vector{format});
  CHECK(message_of([] { parse_formats("srt,docx"); }) ==
        "there is no output format \"docx\": choose from txt, srt, vtt, ass, ttml, sbv, lrc, tsv, csv, json, jsonl, "
        "TextGrid, ctm, stm, rttm, otr, aud and all");
  CHECK(parse_formats("textgrid") == std::vector{Format::textgrid});
  CHECK(holds(message_of([] { parse_formats(""); }), "there is no output format \"\""));
  CHECK(holds(message_of([] { parse_formats("srt,"); }), "there is no output format \"\""));
}

TEST_CASE("files are written whole, into folders that are made, over what was there") {
  const Folder folder;
  const std::string path = folder.path / "new" / "deeper" / "a.srt";
  write_file(path, "first");
  CHECK(content_of(path) == "first");
  const std::string long_text(3000000, 'x');
  write_file(path, long_text);
  CHECK(content_of(path) == long_text);
  CHECK(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}) == 1);  // no temporary file stays
  const mode_t mask = ::umask(022);
  write_file(path, "");
  ::umask(mask);
  CHECK(fs::file_size(path) == 0);
  CHECK(fs::status(path).permissions() == fs::perms(0644));  // others may read it, as with any program's output
}

TEST_CASE("what is written keeps a file's permissions, a link, a device and a pipe as they are") {
  const Folder folder;
  const std::string path = folder.path / "a.srt", link = folder.path / "link.srt", pipe = folder.path / "pipe";
  write_file(path, "first");
  fs::permissions(path, fs::perms(0600));
  fs::create_symlink("a.srt", link);
  write_file(link, "second");
  CHECK(fs::is_symlink(link));
  CHECK(content_of(path) == "second");
  CHECK(fs::status(path).permissions() == fs::perms(0600));

  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  write_file(pipe, "third");
  char read[8] = {};
  CHECK(::read(reader, read, sizeof(read)) == 5);
  CHECK(std::string(read) == "third");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("no output takes the place of what it is made from") {
  const Folder folder;
  const std::string path = folder.path / "a.wav", link = folder.path / "b.wav";
  const std::vector<std::string> inputs = {folder.path / "none.wav", path};
  refuse_to_overwrite(path, inputs);  // neither is there
  write_file(path, "sound");
  fs::create_symlink("a.wav", link);
  CHECK(holds(message_of([&] { refuse_to_overwrite(path, inputs); }), "which it is made from"));
  CHECK(holds(message_of([&] { refuse_to_overwrite(link, inputs); }), "which it is made from"));
  refuse_to_overwrite(folder.path / "c.wav", inputs);
  refuse_to_overwrite("/dev/null", std::vector<std::string>{"/dev/null"});  // can't be destroyed by writing
}

TEST_CASE("a file that can't be written is a sentence and leaves nothing half done") {
  const Folder folder;
  const std::string path = folder.path / "a.srt";
  write_file(path, "as it was");
  SUBCASE("the disk takes no more") {  // a limit on the size of files fails in the same place
    rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {10000, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string message = message_of([&] { write_file(path, std::string(20000, 'x')); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    CHECK(message == "cannot write " + path + ": File too large; choose another folder");
  }
  SUBCASE("the folder is a file") {
    const std::string message = message_of([&] { write_file(path + "/b.srt", "x"); });
    CHECK(message == "cannot write " + path + "/b.srt: Not a directory; choose another folder");
  }
  SUBCASE("a folder has the name") {
    fs::create_directory(folder.path / "b.srt");
    CHECK(holds(message_of([&] { write_file(folder.path / "b.srt", "x"); }), "b.srt: Is a directory"));
    fs::remove(folder.path / "b.srt");
  }
  CHECK(content_of(path) == "as it was");
  CHECK(folder.files() == 1);
}

TEST_CASE("a folder that allows no file is named") {
  const Folder folder;
  fs::permissions(folder.path, fs::perms(0555));
  const uid_t user = ::geteuid();
  if (user == 0 && ::seteuid(65534) != 0) {
    MESSAGE("skipped: everything is allowed to root, who can't become another user here");
    return;
  }
  const std::string path = folder.path / "a.srt";
  const std::string message = message_of([&] { write_file(path, "x"); });
  REQUIRE(::seteuid(user) == 0);
  CHECK(message == "cannot write " + path + ": its folder doesn't allow it; choose another folder");
  CHECK(folder.files() == 0);
}

TEST_CASE("inputs of one name get outputs of their own") {
  OutputNames names;
  CHECK(names.next("talks/a.wav") == "a");
  CHECK(names.next("talks/a.mp3") == "a.mp3");
  CHECK(names.next("other/a.mp3") == "a.mp3-2");
  CHECK(names.next("more/a.mp3") == "a.mp3-3");
  CHECK(names.next("a.mp3.flac") == "a.mp3.flac");  // its stem is taken
  CHECK(names.next("b.tar.gz") == "b.tar");
  CHECK(names.next("no extension") == "no extension");
  CHECK(names.next(".hidden") == ".hidden");
  CHECK(names.next("-") == "stdin");
  CHECK(names.next("https://host.example/dir/talk.mp3?key=a/b.c#t=10") == "talk");
  CHECK(names.next("https://host.example/") == "audio");
  CHECK(names.next("what?.wav") == "what?");
}

TEST_CASE("who speaks stands before the text, and in JSON with the language and how probable that is") {
  Transcript t = transcript({segment(0, 2.5, " Hello?"), segment(2.5, 5, " Hallo!")});
  t.segments[0].speaker = "left";
  t.segments[1].speaker = "right";
  t.segments[1].language = "de";
  t.language_probability = 0.875;
  CHECK(render(t, Format::txt) == "left: Hello?\nright: Hallo!\n");
  CHECK(holds(render(t, Format::srt), "\nleft: Hello?\n"));
  CHECK(holds(render(t, Format::vtt), "\n<c.yellow>right: Hallo!</c>\n"));
  CHECK(terminal_line(t.segments[0]).ends_with("] left: Hello?"));
  const Json json = Json::parse(render(t, Format::json));
  CHECK(json["segments"][0]["speaker"] == "left");
  CHECK(json["segments"][0]["text"] == " Hello?");
  CHECK(!json["segments"][0].contains("language"));
  CHECK(json["segments"][1]["language"] == "de");
  CHECK(json["language_probability"] == 0.875);
  const Json plain = Json::parse(render(transcript({segment(0, 1, " Hm.")}), Format::json));
  CHECK(!plain.contains("language_probability"));
  CHECK(!plain["segments"][0].contains("speaker"));
}

TEST_CASE("what became of each second is in JSON, and as lines for people") {
  Transcript transcript;
  transcript.duration_s = 3.5;
  transcript.coverage.stretches = {{0, 1.25, Fate::silence}, {1.25, 3.5, Fate::low_confidence}};
  const Json json = Json::parse(render(transcript, Format::json));
  CHECK(json["coverage"].dump() == R"([{"start":0.0,"end":1.25,"kind":"silence"},)"
                                   R"({"start":1.25,"end":3.5,"kind":"low_confidence"}])");
  CHECK(coverage_lines(transcript.coverage) ==
        "[00:00.000 --> 00:01.250] silence\n[00:01.250 --> 00:03.500] low_confidence\n");
}
