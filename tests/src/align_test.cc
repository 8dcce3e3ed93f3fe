// Times for a text that is there: what is matched to what, and then real speech with text missing and text too much.
#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program.h"
#include "src/align/align.h"
#include "src/align/long_gap.h"
#include "src/align/match.h"
#include "src/align/plan.h"
#include "src/align/retime_cues.h"
#include "test_models.h"

using namespace sotto;
using nlohmann::json;

namespace {

std::vector<MatchWord> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<MatchWord> list;
  for (std::string word; stream >> word;) list.push_back({matching_key(word), false});
  return list;
}

std::vector<int> match(const std::string& a, const std::string& b) { return match_words(words(a), words(b)); }

Segment spoken(const std::string& text, double start_s, double word_s = 0.3) {
  Segment segment;
  segment.text = " " + text;
  segment.start_s = segment.end_s = start_s;
  std::istringstream stream(text);
  for (std::string word; stream >> word; segment.end_s += word_s)
    segment.words.push_back({segment.end_s, segment.end_s + word_s, " " + word, 0.9f});
  return segment;
}

// What is planned: given words as they are, speech without a text in brackets.
std::string plan(const std::vector<GivenText>& given_texts, const std::vector<Segment>& segments, double duration_s) {
  Transcript recognised;
  recognised.segments = segments;
  const auto given = pieces_of(given_texts), heard = pieces_of(recognised);
  const auto voiced = [&](double from_s, double until_s) {  // wherever a word was recognised, and from second 100 on
    double sum_s = std::max(0.0, until_s - std::max(from_s, 100.0));
    for (const TextPiece& piece : heard)
      sum_s += std::max(0.0, std::min(until_s, piece.end_s) - std::max(from_s, piece.start_s));
    return sum_s;
  };
  std::string text;
  for (const PlannedPiece& piece : plan_pieces(given, heard, duration_s, voiced)) {
    if (piece.given >= 0) text += given[piece.given].text;
    else text.append(" [").append(heard[piece.recognised].text.substr(1)).append("]");
  }
  return text;
}

const std::string kClip = "librivox/sense_and_sensibility_01_austen_64kb-0920.wav";

json golden_words(const std::string& audio) {
  std::ifstream file(SOTTO_SOURCE_DIR "/tests/golden/tiny.en.words.jsonl");
  for (std::string line; std::getline(file, line);)
    if (const json clip = json::parse(line); clip["audio"] == audio) return clip;
  return {};
}

struct Said {
  std::string text;
  double start_s, end_s;
};

std::vector<Said> words_of(const json& transcript) {
  std::vector<Said> list;
  for (const json& segment : transcript["segments"])
    for (const json& word : segment["words"]) list.push_back({word["word"], word["start"], word["end"]});
  return list;
}

// Runs sotto align, and gives its JSON.
Ran align(const TemporaryFolder& folder, const std::string& text, const std::string& options) {
  std::ofstream(folder.path() + "/text.txt") << text;
  return run_sotto("align " + std::string(kTestSpeech) + "/" + kClip + " " + folder.path() + "/text.txt -m " +
                   *test_model("tiny.en") + " --threads 1 " + options);
}

}  // namespace

TEST_CASE("words are matched by their letters, whatever their case, marks, accents and width") {
  CHECK(matching_key("“Café!”") == "cafe");
  CHECK(matching_key("ＡＢＣ１２") == "abc12");
  CHECK(matching_key("Straße") == "strasse");
  CHECK(matching_key("—").empty());
  CHECK(match("The cat sat.", "the CAT, sat") == std::vector{0, 1, 2});
  CHECK(match("a b c", "") == std::vector{-1, -1, -1});
  CHECK(match("", "a b").empty());
  CHECK(likeness("colour", "color") > 0.8);
  CHECK(likeness("colour", "wing") == doctest::Approx(0).epsilon(0.3));
}

TEST_CASE("a word taken for another stands for it; what is too much is left in one piece") {
  CHECK(match("the weather is fine today", "the whether is fine today") == std::vector{0, 1, 2, 3, 4});
  CHECK(match("one two and then not said at all three four", "one two three four") ==
        std::vector{0, 1, -1, -1, -1, -1, -1, -1, 2, 3});
  CHECK(match("one two three four", "one two and more of it three four") == std::vector{0, 1, 6, 7});
}

TEST_CASE("long texts are matched as short ones are, and in time about proportional to their length") {
  std::string a, b;
  std::vector<int> expected;
  int in_b = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::string word = "w" + std::to_string(i * 7919 % 5003) + (i % 3 ? "" : "x" + std::to_string(i));
    const bool missing = i % 1000 < 20, other = i % 97 == 50;
    a += word + " ";
    expected.push_back(missing ? -1 : in_b);
    if (!missing) b += (other ? word + "s " : word + " "), ++in_b;
  }
  const std::vector<int> found = match(a, b);
  int different = 0;
  for (size_t i = 0; i < found.size(); ++i) different += found[i] != expected[i];
  CHECK(different < 30);
}

TEST_CASE("what is planned: what was said, what wasn't, and what was said without a text") {
  const std::vector<Segment> heard = {spoken("It was a bright cold day.", 1), spoken("The clocks were striking thirteen.", 4)};
  const auto texts = [](std::initializer_list<const char*> list) {
    std::vector<GivenText> all;
    for (const char* text : list) all.push_back({text, ""});
    return all;
  };
  CHECK(plan(texts({" It was a bright cold day.", " The clocks were striking thirteen."}), heard, 10) ==
        " It was a bright cold day. The clocks were striking thirteen.");
  // Nobody spoke for as long as this would take.
  CHECK(plan(texts({" It was a bright cold day.", " Nobody had expected that, of course.",
                    " The clocks were striking thirteen."}), heard, 10) ==
        " It was a bright cold day. The clocks were striking thirteen.");
  CHECK(plan(texts({" The clocks were striking thirteen."}), heard, 10) ==
        " [It] [was] [a] [bright] [cold] [day.] The clocks were striking thirteen.");
  CHECK(plan(texts({" It was a light cold day.", " The clocks were striking 13."}), heard, 10) ==
        " It was a light cold day. The clocks were striking 13.");
  // A voice was heard for long enough, though nothing was recognised.
  CHECK(plan(texts({" It was a bright cold day.", " The clocks were striking thirteen.", " And then some more of it."}),
             heard, 105) == " It was a bright cold day. The clocks were striking thirteen. And then some more of it.");
  CHECK(plan({}, heard, 10).find("[It] [was]") != std::string::npos);
  CHECK(plan(texts({" Only this."}), {}, 10).empty());
}

TEST_CASE("marks stand with their words, and texts without spaces are matched by character") {
  const auto pieces = pieces_of(std::vector<GivenText>{{" — Well, “yes” … he said !", ""}, {" ♪", ""}, {" 你好，世界。", ""}});
  std::vector<std::string> found;
  for (const TextPiece& piece : pieces) found.push_back(piece.text);
  CHECK(found == std::vector<std::string>{" — Well,", " “yes” …", " he", " said !", " 你", "好，", "世", "界。"});
  CHECK(pieces.back().segment == 2);
}

TEST_CASE("numbers are matched digit by digit, however the two texts part them") {
  const auto pieces = pieces_of(std::vector<GivenText>{{" In 1995, 20th of 10,000: B2", ""}});
  std::vector<std::string> found;
  for (const TextPiece& piece : pieces) found.push_back(piece.text);
  CHECK(found == std::vector<std::string>{" In", " 1", "9", "9", "5,", " 2", "0th", " of", " 1", "0,", "0", "0", "0:", " B2"});
  CHECK(pieces[2].goes_on);
  CHECK_FALSE(pieces[5].goes_on);
  CHECK(plan({{" 1234567890", ""}}, {spoken("12 34 5678 90", 1)}, 4) == " 1234567890");
  CHECK(plan({{" In nineteen ninety five it rained.", ""}}, {spoken("In 1995 it rained.", 1, 1)}, 10) ==
        " In nineteen ninety five it rained.");  // the four digits are one word, not three without a text
}

TEST_CASE("over more than a window only what sounds alike is believed, and the rest lies between that") {
  std::vector<Segment> heard = {spoken("It was a bright cold day.", 1), spoken("Strikin grass us.", 140),
                                spoken("The clocks chimed thirteen.", 190)};
  const std::vector<GivenText> texts = {{" It was a bright cold day.", ""},
                                        {" Winston slipped quickly through striking glass doors.", ""},
                                        {" The clocks chimed thirteen.", ""}};
  Transcript recognised;
  recognised.segments = heard;
  const auto given = pieces_of(texts), words = pieces_of(recognised);
  const auto all = plan_pieces(given, words, 200, [](double from_s, double until_s) { return until_s - from_s; });
  const auto& winston = *std::ranges::find_if(all, [&](const PlannedPiece& p) {
    return p.given >= 0 && given[p.given].key == "winston";
  });
  const auto& glass = *std::ranges::find_if(all, [&](const PlannedPiece& p) {
    return p.given >= 0 && given[p.given].key == "glass";
  });
  const auto& doors = *std::ranges::find_if(all, [&](const PlannedPiece& p) {
    return p.given >= 0 && given[p.given].key == "doors";
  });
  const auto& striking = *std::ranges::find_if(all, [&](const PlannedPiece& p) {
    return p.given >= 0 && given[p.given].key == "striking";
  });
  CHECK(winston.recognised < 0);
  CHECK(winston.from_s == doctest::Approx(2.8));
  CHECK(striking.recognised >= 0);
  CHECK(winston.until_s == doctest::Approx(striking.from_s));
  CHECK(doors.recognised < 0);  // "us" would fit there, but doesn't sound like it
  CHECK(doors.from_s == doctest::Approx(glass.until_s));
  CHECK(doors.until_s == doctest::Approx(190));
}

TEST_CASE("a long gap is parted at its longest silences, and its words by pace") {
  const auto speech = [](std::initializer_list<std::pair<int, int>> seconds) {
    std::vector<Speech> all;
    for (const auto& [start, end] : seconds) all.push_back({start * 16000, end * 16000});
    return all;
  };
  const auto parts = parts_of_gap(5, 95, speech({{0, 12}, {14, 20}, {21, 30}, {34, 40}, {60, 90}, {94, 99}}), 28);
  std::vector<std::pair<double, double>> found;
  for (const GapPart& part : parts) found.emplace_back(part.start_s, part.end_s);
  CHECK(found == std::vector<std::pair<double, double>>{{5, 30}, {34, 40}, {60, 88}, {88, 95}});
  CHECK(parts[0].voiced_s == 22);
  CHECK(parts[3].voiced_s == 3);
  CHECK(parts_of_gap(5, 95, {}, 28).empty());
  CHECK(expected_cuts(std::vector<GapPart>{{0, 10, 10}, {20, 50, 20}, {60, 60, 0}}, std::vector(9, 4)) ==
        std::vector{0, 3, 9, 9});
}

TEST_CASE("subtitles keep their cues and lines; what wasn't heard moves along where there is room") {
  CueFile file = parse_cue_file("1\n00:00:01,000 --> 00:00:02,000\n<i>One two</i>\nthree.\n\n"
                                "2\n00:00:03,000 --> 00:00:04,000\n[door]\n\n"
                                "3\n00:00:05,000 --> 00:00:06,000\nFour.\n\n4\n00:00:06,100 --> 00:00:07,000\n[wind]\n\n"
                                "5\n00:00:07,200 --> 00:00:08,000\nFive.\n\n");
  const CueFile before = file;
  std::vector<Segment> segments = {spoken("One two three.", 11), {}, spoken("Four.", 15), {}, spoken("Five.", 15.5)};
  const SubtitleStyle style = resolve({}, "en");
  const std::vector<int> kept = retime_by_words(file, segments, style, 60000);
  CHECK(kept == std::vector{0, 1, 2, 4});
  REQUIRE(file.cues.size() == 4);
  CHECK(file.cues[0].start_ms == 11000);
  CHECK(file.cues[0].end_ms >= 11900);
  CHECK(file.cues[1].start_ms == 13000);
  CHECK(file.cues[1].end_ms == 14000);
  CHECK(file.cues[2].start_ms == 15000);
  CHECK(file.cues[2].end_ms == 15500 - style.gap_ms);
  CHECK(file.cues[3].text == std::vector<std::string>{"Five."});
  CHECK(file.cues[0].text == std::vector<std::string>{"<i>One two</i>", "three."});
  CHECK(moved_within(before, file, kept)(1500) > 11000);
  CueFile short_sound = before;
  segments.back().words.clear();
  CHECK(retime_by_words(short_sound, segments, style, 16500) == std::vector{0, 1, 2, 3});  // the last would come after it
  const std::vector<Cue> cues = cues_of(file, segments, kept);
  REQUIRE(cues[0].lines.size() == 2);
  CHECK(cues[0].lines[0][1].text == " two");
  CHECK(cues[0].lines[0][1].start_ms == 11300);
  CHECK(cues[0].lines[1][0].start_ms == 11600);
}

TEST_CASE("a text gets the times that its words have when they are recognised") {
  const TemporaryFolder folder;
  const json clip = golden_words(kClip);
  REQUIRE(!clip.is_null());
  if (!test_model("tiny.en") || !std::filesystem::exists(std::string(kTestSpeech) + "/" + kClip)) return;
  std::vector<Said> expected = words_of(clip);
  std::string text;
  for (const Said& word : expected) text += word.text;
  const Ran whole = align(folder, text, "-f json --quiet");
  REQUIRE(whole.status == 0);
  CHECK(whole.err.find("not heard") == std::string::npos);
  const std::vector<Said> found = words_of(json::parse(whole.out));
  REQUIRE(found.size() == expected.size());
  std::vector<double> apart_s;
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].text == expected[i].text);
    apart_s.push_back(std::abs(found[i].start_s - expected[i].start_s));
  }
  std::ranges::sort(apart_s);
  CHECK(apart_s[apart_s.size() / 2] <= 0.05);
  CHECK(apart_s[apart_s.size() * 9 / 10] <= 0.2);

  // Without words in the middle, and with a sentence that nobody said.
  const size_t n = expected.size(), from = n / 3, until = from + 5;
  std::string other;
  for (size_t i = 0; i < n; ++i)
    if (i < from || i >= until) other += expected[i].text;
  other += "\nThe submarine surfaced near the purple lighthouse at midnight.\n";
  const Ran changed = align(folder, other, "-f json --quiet");
  REQUIRE(changed.status == 0);
  CHECK(changed.err.find("text.txt:2: not heard: \"The submarine surfaced near the purple lighthouse at midnight.\"") !=
        std::string::npos);
  CHECK(changed.err.find("there is no text for") != std::string::npos);
  const std::vector<Said> rest = words_of(json::parse(changed.out));
  REQUIRE(rest.size() == n - 5);
  int far = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const Said& same = expected[i < from ? i : i + 5];
    far += std::abs(rest[i].start_s - same.start_s) > 0.15;
  }
  CHECK(far <= 2);

  // Without the first words, and with a sentence put between two that were said.
  other.clear();
  for (size_t i = from; i < n; ++i) {
    if (i == until) other += " The submarine surfaced near the purple lighthouse at midnight.";
    other += expected[i].text;
  }
  const Ran within = align(folder, other, "-f json --quiet");
  REQUIRE(within.status == 0);
  CHECK(within.err.find("not heard: \"The submarine surfaced near the purple lighthouse at midnight.\"") != std::string::npos);
  CHECK(within.err.find("there is no text for") != std::string::npos);
  std::vector<Said> heard;
  for (const Said& word : words_of(json::parse(within.out)))
    if (heard.size() != 5 || word.text == expected[until].text) heard.push_back(word);
  REQUIRE(heard.size() == n - from);
  far = 0;
  for (size_t i = 0; i < heard.size(); ++i) far += std::abs(heard[i].start_s - expected[from + i].start_s) > 0.15;
  CHECK(far <= 2);
}

TEST_CASE("who stops an alignment waits for no further window") {
  const std::string clip = std::string(kTestSpeech) + "/" + kClip;
  if (!test_model("tiny.en") || !std::filesystem::exists(clip)) return;
  std::string text;
  for (const Said& word : words_of(golden_words(kClip))) text += word.text;
  Engine engine = open_engine(*test_model("tiny.en"), {.threads = 1});
  int asked = 0, most = INT_MAX;
  Listener listener;
  listener.stopped = [&] { return ++asked > most; };
  const auto untimed = [&] {
    const AlignedText aligned = align_text(engine, {clip, {}}, {}, {{text, ""}}, listener);
    std::string unheard;
    for (const auto& stretch : aligned.unheard) unheard += stretch.text;
    return std::pair{unheard.size(), aligned.transcript.segments[0].words.size()};
  };
  const auto whole = untimed();
  CHECK(whole.first < 10);
  CHECK(whole.second > 10);
  most = asked - 1;  // the last time of all, before the window's words are timed
  asked = 0;
  const auto stopped = untimed();
  CHECK(stopped.first > text.size() * 9 / 10);
  CHECK(stopped.second == 0);
}

TEST_CASE("words that nobody recognised over more than a window have their times all the same") {
  const std::string folder_of_clips = std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-";
  if (!test_model("tiny.en") || !std::filesystem::exists(folder_of_clips + "0870.wav")) return;
  const TemporaryFolder folder;
  const char* const clips[] = {"0930", "0870", "0880", "0890", "0920", "0870", "0890"};  // a second of silence behind each
  std::string inputs, filter, joined, text;
  std::vector<Said> expected;
  double at_s = 0;
  for (const std::string clip : clips) {
    const Ran ran = run_sotto(folder_of_clips + clip + ".wav -f json -o - --word-timestamps True --quiet --threads 1 --no-vad "
                              "--beam-size 1 --language en -m " + *test_model("tiny.en"));
    REQUIRE(ran.status == 0);
    const json alone = json::parse(ran.out);
    for (Said word : words_of(alone)) {
      text += word.text;
      expected.push_back({word.text, at_s + word.start_s, at_s + word.end_s});
    }
    at_s += alone["duration"].get<double>() + 1;
    const std::string n = std::to_string(joined.size() / 4);
    inputs += " -i " + folder_of_clips + clip + ".wav";
    filter += "[" + n + ":a]apad=pad_dur=1[p" + n + "];";
    joined += "[p" + n + "]";
  }
  const std::string sound = folder.path() + "/long.wav";
  REQUIRE(std::system(("ffmpeg -v error" + inputs + " -filter_complex '" + filter + joined + "concat=n=7:v=0:a=1' " + sound)
                          .c_str()) == 0);
  Engine engine = open_engine(*test_model("tiny.en"), {.threads = 1});
  if (std::filesystem::exists(sotto_home() + "/models/vad"))
    engine.vad = std::make_unique<Vad>(sotto_home() + "/models/vad/silero_vad_16k_op15.onnx");
  TranscribeOptions options;
  options.sampling.beam_size = 1;
  options.clip_timestamps = {0, 3.5};  // so the model hears the first of seven
  const AlignedText aligned = align_text(engine, {sound, {}}, options, {{text, ""}}, {});
  CHECK(at_s > 40);
  REQUIRE(aligned.transcript.segments.size() == 1);
  const std::vector<Word>& found = aligned.transcript.segments[0].words;
  std::map<size_t, Word> found_at;  // by the place in the text, for the two are cut into words in different ways
  size_t place = 0;
  for (const Word& word : found) {
    found_at[place] = word;
    place += word.text.size();
  }
  int far = 0, untimed = 0;
  place = 0;
  for (const Said& word : expected) {
    if (found_at.contains(place)) {
      const Word& same = found_at[place];
      untimed += same.probability == 0;
      far += std::abs(same.start_s - word.start_s) > 0.3;
    }
    place += word.text.size();
  }
  CHECK(found_at.size() > 90);
  CHECK(untimed <= 3);  // the model may not believe in a word or two
  CHECK(far <= 5);
}

TEST_CASE("a word after a long silence begins with its voice, recognised or aligned") {
  const std::string clip = std::string(kTestSpeech) + "/" + kClip;
  if (!test_model("tiny.en") || !std::filesystem::exists(clip)) return;
  const TemporaryFolder folder;
  const std::string twice = folder.path() + "/twice.wav";
  REQUIRE(std::system(("ffmpeg -v error -i " + clip + " -filter_complex '[0:a]asplit[x][y];[x]apad=pad_dur=20[p];"
                       "[p][y]concat=n=2:v=0:a=1' " + twice).c_str()) == 0);
  const std::string options = " --threads 1 --quiet --language en -m " + *test_model("tiny.en");
  const auto transcript = [&](const std::string& sound) {
    const Ran ran = run_sotto(sound + " -f json -o - --word-timestamps True --beam-size 1" + options);
    REQUIRE(ran.status == 0);
    return json::parse(ran.out);
  };
  const json once = transcript(clip), both = transcript(twice);
  const double later_s = once["duration"].get<double>() + 20;
  const auto onset = [&](const json& said) {
    for (const Said& word : words_of(said))
      if (word.start_s > later_s - 10) return word.start_s;
    return 0.0;
  };
  CHECK(std::abs(onset(both) - later_s - words_of(once)[0].start_s) < 0.15);
  std::string text;
  for (const Said& word : words_of(both)) text += word.text;
  std::ofstream(folder.path() + "/text.txt") << text;
  const Ran aligned = run_sotto("align " + twice + " " + folder.path() + "/text.txt -f json" + options);
  REQUIRE(aligned.status == 0);
  CHECK(std::abs(onset(json::parse(aligned.out)) - later_s - words_of(once)[0].start_s) < 0.15);
}

TEST_CASE("what can't be aligned is said") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/empty.txt") << " \n\n";
  const Ran empty = run_sotto("align x.wav " + folder.path() + "/empty.txt");
  CHECK(empty.status == 1);
  CHECK(empty.err.find("holds no text to align") != std::string::npos);
  CHECK(run_sotto("align x.wav").status == 2);
  CHECK(run_sotto("align x.wav y.txt -f srt,vtt").status == 2);
  CHECK(run_sotto("align x.wav y.txt -f doc").status == 2);
  CHECK(run_sotto("align x.wav y.txt --channels split").status == 2);
  CHECK(run_sotto("align --help").out.find("AUDIO TEXT") != std::string::npos);
}
