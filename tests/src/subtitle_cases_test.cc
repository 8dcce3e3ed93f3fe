// What users of other programs met in their files, over every format: nothing said, words without time, characters of
// several bytes, signs that tables and players take for their own, hours beyond 99.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "models/catalog.h"
#include "models/utf8.h"
#include "program.h"
#include "src/subtitles/columns.h"
#include "src/subtitles/cue_file.h"
#include "src/subtitles/layout.h"
#include "src/writers.h"
#include "test_models.h"
#include "wav.h"

using namespace sotto;
using nlohmann::json;

namespace {

const std::vector<Format> kFormats = parse_formats(format_names());
const char* const kRead[] = {"srt", "vtt", "ass", "ttml", "sbv", "lrc", "tsv", "csv"};  // by cue_file.h, too

Transcript one_segment(const std::string& text, double start_s, double end_s, const std::vector<std::string>& words = {}) {
  Transcript t;
  t.audio = "a.wav";
  t.language = "en";
  t.duration_s = end_s + 10;
  Segment& segment = t.segments.emplace_back();
  segment.text = text;
  segment.start_s = start_s;
  segment.end_s = end_s;
  const double step_s = words.empty() ? 0 : (end_s - start_s) / static_cast<double>(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    segment.words.push_back({start_s + i * step_s, start_s + (i + 1) * step_s, words[i], 0.5f});
  return t;
}

// Fields as RFC 4180 has them; rows that end otherwise than with CR LF, or quotes that can't be there, give no row.
std::vector<std::vector<std::string>> read_rfc4180(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      for (++i; i < text.size(); ++i) {
        if (text[i] != '"') row.back() += text[i];
        else if (i + 1 < text.size() && text[i + 1] == '"') row.back() += text[i++];
        else break;
      }
      if (++i > text.size()) return {};
    } else {
      while (i < text.size() && text[i] != ',' && text[i] != '\r' && text[i] != '\n' && text[i] != '"') row.back() += text[i++];
    }
    if (i < text.size() && text[i] == ',') {
      row.emplace_back();
      ++i;
    } else if (text.substr(i, 2) == "\r\n") {
      rows.push_back(std::move(row));
      row.assign(1, "");
      i += 2;
    } else {
      return {};
    }
  }
  return rows;
}

struct Said {
  const char* language;
  std::vector<std::string> words;
};

const std::vector<Said> kManyBytes = {
    {"zh", {"今天", "天气", "非常", "好", "，", "我们", "一起", "去", "公园", "散步", "𠮷野家", "吧", "。"}},
    {"ja", {"きょう", "は", "とても", "いい", "天気", "です", "ので", "、", "がっこう", "へ", "か\u3099いこく", "ます", "。"}},
    {"ar", {" مرحبًا", " بالعالَمِ،", " كيف", " حالُكَ", " اليومَ؟", " أنا", " بخيرٍ", " شكرًا", " لك."}},
    {"lv", {" Šodien", " ļoti", " jauks", " laiks,", " tāpēc", " iesim", " pastaigāties", " gar", " jūru.",
            " Līgas", " dārzā."}},
    {"hi", {" नमस्ते", " दुनिया,", " आप", " कैसे", " हैं?", " क्षत्रिय", " विद्यार्थियों", " ने", " कहा।"}},
};

}  // namespace

TEST_CASE("nothing said: every format is a valid file without a cue, in every layout") {
  Transcript none, blank = one_segment(" \t ", 1, 2);
  none.audio = blank.audio = "a.wav";
  none.duration_s = 10;
  for (const Transcript* t : {&none, &blank})
    for (const char* style : {"broadcast", "netflix", "bbc", "social", "plain", "whisper"})
      for (const bool karaoke : {false, true})
        for (const Format format : kFormats) {
          CAPTURE(extension(format));
          CAPTURE(style);
          const std::string content = render(*t, lay_out(*t, {.style = style}), format, karaoke);
          switch (format) {
            case Format::txt: case Format::srt: case Format::sbv: case Format::lrc: case Format::ctm: case Format::stm:
            case Format::rttm: case Format::aud: CHECK(content.empty()); break;
            case Format::vtt: CHECK(content == "WEBVTT\n\n"); break;
            case Format::tsv: CHECK(content == "start\tend\ttext\n"); break;
            case Format::csv: CHECK(content == "start,end,text\r\n"); break;
            case Format::json: case Format::jsonl: CHECK(json::parse(content)["duration"] == t->duration_s); break;
            case Format::otr: CHECK(json::parse(content)["text"] == ""); break;
            case Format::ass: CHECK(content.ends_with("Effect, Text\n")); break;
            case Format::ttml: CHECK(content.ends_with("<div>\n    </div>\n  </body>\n</tt>\n")); break;
            case Format::textgrid: CHECK(content.starts_with("File type = \"ooTextFile\"\n")); break;
          }
        }
}

TEST_CASE("silence, the language to be found: no error, an empty file of each format") {
  if (!test_model("base") || !std::filesystem::exists(sotto_home() + "/models/vad")) {
    MESSAGE("skipped: the weights of base or the voice activity network aren't here");
    return;
  }
  const TemporaryFolder folder;
  write_wav(folder.path() + "/none.wav", std::vector<int16_t>(16000));
  for (const char* mode : {"sequential", "batched"}) {
    const Ran ran = run_sotto(folder.path() + "/none.wav --offline --threads 1 --quiet -m " + *test_model("base") +
                              " --mode " + mode + " -o " + folder.path() + " -f '" + format_names() + "'");
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    for (const Format format : kFormats)
      CHECK(std::filesystem::exists(folder.path() + "/none." + std::string(extension(format))));
    const json written = json::parse(file_content(folder.path() + "/none.json"));
    CHECK(written["segments"].empty());
    CHECK(written["text"] == "");
    CHECK(file_content(folder.path() + "/none.srt").empty());
    CHECK(file_content(folder.path() + "/none.vtt") == "WEBVTT\n\n");
  }
}

TEST_CASE("words without time, or with times that go back: cues follow each other, each is there for a while") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Transcript t;
    t.language = "en";
    double at_s = 0;
    for (int s = 0; s < 4; ++s) {
      Segment& segment = t.segments.emplace_back();
      segment.start_s = at_s;
      for (int w = static_cast<int>(random() % 8); w >= 0; --w) {
        const double length_s = random() % 3 ? 0.02 * (random() % 20) : 0, back_s = random() % 6 ? 0 : 0.2;
        segment.words.push_back({at_s - back_s, at_s - back_s + length_s, " word", 1});
        segment.text += " word";
        at_s += length_s;
      }
      segment.end_s = at_s;
    }
    t.duration_s = std::max(at_s, 4.0);
    std::vector<SubtitleOptions> layouts = {{.style = "whisper"}, {.columns = 20}, {.words_per_line = 1},
                                            {.columns = 1, .lines = 1}, {.columns = 10, .lines = 2}, {}, {.style = "social"}};
    for (const SubtitleOptions& options : layouts) {
      CAPTURE(round);
      const std::vector<Cue> cues = lay_out(t, options);
      int64_t free_ms = 0;
      bool in_order = !cues.empty();
      for (const Cue& cue : cues) {
        in_order = in_order && cue.start_ms >= free_ms && cue.end_ms >= cue.start_ms + 20;
        free_ms = cue.end_ms;
      }
      CHECK(in_order);
      CHECK(free_ms <= static_cast<int64_t>(t.duration_s * 1000));
    }
  }
}

TEST_CASE("characters of several bytes: no format, width or layout cuts one") {
  for (const Said& said : kManyBytes) {
    std::string text;
    for (const std::string& word : said.words) text += word;
    Transcript t = one_segment(text, 1, 6, said.words);
    t.language = said.language;
    const Transcript untimed = [&] {
      Transcript copy = t;
      copy.segments[0].words.clear();
      return copy;
    }();
    for (const Transcript* transcript : std::vector<const Transcript*>{&t, &untimed})
      for (const int columns : {2, 3, 5, 10, 42})
        for (const char* style : {"broadcast", "whisper"}) {
          CAPTURE(said.language);
          CAPTURE(columns);
          const std::vector<Cue> cues = lay_out(*transcript, {.style = style, .columns = columns});
          std::string shown;
          for (const Cue& cue : cues)
            for (const CueLine& line : cue.lines) {
              const std::string whole = text_of(line);
              const auto graphemes = graphemes_of(whole);
              CHECK(!graphemes.empty());
              CHECK(graphemes.front().columns > 0);  // no mark without its letter
              if (style == std::string("broadcast")) CHECK((size_of(whole).columns <= columns || graphemes.size() == 1));
              shown += whole;
            }
          std::string wanted = text;
          std::erase(shown, ' ');
          std::erase(wanted, ' ');
          CHECK(shown == wanted);
          for (const Format format : kFormats)
            for (const bool karaoke : {false, true}) {
              CAPTURE(extension(format));
              const std::string content = render(*transcript, cues, format, karaoke);
              CHECK(content == valid_utf8(content));
              CHECK(content.find("\uFFFD") == std::string::npos);
            }
        }
    const json written = json::parse(render(t, {}, Format::json));
    CHECK(written["text"] == text);
    CHECK(terminal_line(t.segments[0]).ends_with(strip(text)));
  }
}

TEST_CASE("tables: whatever is said, rows and fields stay what they are") {
  const std::vector<std::string> texts = {"a, b", "\"", "\"\"", "he said \"no\", \"never\"", ",", "a\tb", "a\nb\r\nc", "'x'",
                                          "=1+1",
                                          "a,\"b\"\n\"c\",", "\t", "; \\ |"};
  for (const std::string& who : {std::string(), std::string("Ann, \"B\"\t& Co\n")}) {
    Transcript t = one_segment("first", 0, 1);
    t.segments[0].speaker = who;
    for (const std::string& text : texts) {
      t.segments.push_back(t.segments[0]);
      t.segments.back().text = text;
    }
    const auto rows = read_rfc4180(render(t, {}, Format::csv));
    REQUIRE(rows.size() == texts.size() + 1);  // the one of a tab alone has no text; the first row says what is what
    for (const auto& row : rows) CHECK(row.size() == rows[0].size());
    CHECK(rows[2].back() == "a, b");
    CHECK(rows[5].back() == "he said \"no\", \"never\"");
    CHECK(rows[8].back() == "a b c");
    const std::string tsv = render(t, {}, Format::tsv);
    CHECK(std::ranges::count(tsv, '\n') == static_cast<int>(texts.size()) + 1);
    CHECK(std::ranges::count(tsv, '\t') == 2 * (static_cast<int>(texts.size()) + 1));
    CHECK(tsv.find('\r') == std::string::npos);
    const std::string aud = render(t, {}, Format::aud);
    CHECK(std::ranges::count(aud, '\n') == static_cast<int>(texts.size()));
    CHECK(std::ranges::count(aud, '\t') == 2 * static_cast<int>(texts.size()));
  }
}

TEST_CASE("hours beyond 99, in every format that is read again") {
  for (const double start_s : {359999.99, 360000.0, 3600000.0, 4000000.5}) {
    const Transcript t = one_segment(" Late.", start_s, start_s + 2, {" Late."});
    for (const char* name : kRead)
      for (const bool karaoke : {false, true}) {
        CAPTURE(name);
        CAPTURE(start_s);
        const std::string content = render(t, lay_out(t, {}), parse_formats(name)[0], karaoke);
        const CueFile file = parse_cue_file(content);
        REQUIRE(file.cues.size() == 1);
        CHECK(file.bad_lines.empty());
        CHECK(file.cues[0].start_ms == std::llrint(start_s * 1000));
        CHECK(file.cues[0].end_ms == std::llrint(start_s * 1000) + 2000);
      }
    for (const Format format : {Format::ctm, Format::stm, Format::rttm, Format::textgrid, Format::aud, Format::json}) {
      const std::string content = render(t, lay_out(t, {}), format);
      CAPTURE(content);
      CHECK(content.find(std::to_string(static_cast<int64_t>(start_s))) != std::string::npos);
    }
  }
}
