// The formats of subtitles that are plain text: SRT, SBV, WebVTT, and LRC, that of lyrics.
#include <cstdio>

#include "models/error.h"
#include "models/utf8.h"
#include "src/writers.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

using RunLine = std::vector<Run>;

// A run with tags around its word, not around the space before it.
std::string tagged(const Run& run, const Escapes& escapes, std::string_view before, std::string_view after) {
  const size_t word = std::min(run.text.find_first_not_of(' '), run.text.size());
  std::string out(run.text, 0, word);
  return out.append(before).append(escaped(run.text.substr(word), escapes)).append(after);
}

// The cue's lines as they are; marked words are underlined, if that can be said.
std::string plain_text(const Cue& cue, bool underlines) {
  std::string text;
  for (const RunLine& line : runs_of(cue)) {
    if (!text.empty()) text += '\n';
    for (const Run& run : line)
      text += run.marked && underlines ? tagged(run, {}, "<u>", "</u>") : run.text;
  }
  // "-->" would be read as a line of times. A longer arrow holds another one once shortened.
  for (size_t at = text.find("-->"); at != text.npos; at = text.find("-->")) text.erase(at, 1);
  return text;
}

// ">" is allowed bare in WebVTT, but libavformat's reader drops it.
const Escapes kVttEscapes = {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}};

constexpr std::string_view kVttHeader = "WEBVTT\n\n";

// "<00:01.500>" before each word that begins within the cue, after the one before it.
std::string vtt_text(const Cue& cue, bool karaoke) {
  std::string text;
  int64_t last_ms = cue.start_ms;
  for (const RunLine& line : runs_of(cue)) {
    if (!text.empty()) text += '\n';
    for (const Run& run : line) {
      std::string time;
      if (karaoke && run.start_ms > last_ms && run.start_ms < cue.end_ms) {
        time = '<' + clock(last_ms = run.start_ms, Hours::if_any, '.') + '>';
      }
      text += tagged(run, kVttEscapes, time + (run.marked ? "<u>" : ""), run.marked ? "</u>" : "");
    }
  }
  return text;
}

std::string sbv_clock(int64_t ms) {
  char text[48];
  std::snprintf(text, sizeof text, "%lld:%02d:%02d.%03d", static_cast<long long>(ms / 3600000),
                static_cast<int>(ms / 60000 % 60), static_cast<int>(ms / 1000 % 60), static_cast<int>(ms % 1000));
  return text;
}

std::string lrc_clock(int64_t ms) {
  const int64_t cs = to_cs(ms);
  return two_digits(cs / 6000) + ':' + two_digits(cs / 100 % 60) + '.' + two_digits(cs % 100);
}

// What a player shows between two lines of lyrics: nothing. Pauses shorter than this keep the line.
constexpr int64_t kLyricsPauseMs = 1000;

}  // namespace

std::string render_srt(std::span<const Cue> cues, int first_number) {
  std::string out;
  int number = first_number;
  for (const Cue& cue : cues) {
    const std::string text = plain_text(cue, true);
    if (text.empty()) continue;
    out += std::to_string(number++) + '\n' + clock(cue.start_ms, Hours::always, ',') + " --> " +
           clock(cue.end_ms, Hours::always, ',') + '\n' + text + "\n\n";
  }
  return out;
}

std::string render_sbv(std::span<const Cue> cues) {
  std::string out;
  for (const Cue& cue : cues)
    if (const std::string text = plain_text(cue, false); !text.empty())
      out += sbv_clock(cue.start_ms) + ',' + sbv_clock(cue.end_ms) + '\n' + text + "\n\n";
  return out;
}

// Speakers are told apart by the classes that every reader of WebVTT colours by itself: some readers stop at a block of
// styles, and some write a voice's name a second time.
std::string render_vtt(std::span<const Cue> cues, bool karaoke) {
  std::string out(kVttHeader);
  const std::vector<std::string> speakers = speakers_of(cues);
  for (const Cue& cue : cues) {
    const std::string text = vtt_text(cue, karaoke);
    if (text.empty()) continue;
    out += clock(cue.start_ms, Hours::if_any, '.') + " --> " + clock(cue.end_ms, Hours::if_any, '.') + '\n';
    const std::string_view colour = cue.speaker.empty() ? "" : kSpeakerColours[number_of_speaker(speakers, cue.speaker) %
                                                                              std::size(kSpeakerColours)].name;
    out += (colour.empty() || colour == "white" ? text : "<c." + std::string(colour) + '>' + text + "</c>") + "\n\n";
  }
  return out;
}

std::string render_cue(const Cue& cue, Format format, int number) {
  CHECK_INVARIANT(format == Format::srt || format == Format::vtt);
  const std::span<const Cue> cues(&cue, 1);
  return format == Format::srt ? render_srt(cues, number) : render_vtt(cues, false).substr(kVttHeader.size());
}

std::string render_lrc(std::span<const Cue> cues, bool karaoke) {
  std::string out;
  for (size_t i = 0; i < cues.size(); ++i) {
    const Cue& cue = cues[i];
    std::string text;
    for (const RunLine& line : runs_of(cue)) {
      if (!text.empty()) text += ' ';
      for (const Run& run : line)
        text += karaoke && !run.label ? tagged(run, {}, '<' + lrc_clock(run.start_ms) + '>', "") : run.text;
    }
    if (text.empty()) continue;
    out += '[' + lrc_clock(cue.start_ms) + ']' + text + '\n';
    if (i + 1 == cues.size() || cues[i + 1].start_ms - cue.end_ms >= kLyricsPauseMs)
      out += '[' + lrc_clock(cue.end_ms) + "]\n";
  }
  return out;
}

}  // namespace sotto
