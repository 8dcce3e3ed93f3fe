// Advanced SubStation Alpha, as Aegisub, libass and VSFilter read it.
#include <cstdio>

#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

// For a picture of 1920 x 1080. Lines are broken here, so the renderer breaks none (WrapStyle 2).
constexpr char kHeader[] =
    "[Script Info]\n"
    "ScriptType: v4.00+\n"
    "PlayResX: 1920\n"
    "PlayResY: 1080\n"
    "WrapStyle: 2\n"
    "ScaledBorderAndShadow: yes\n"
    "YCbCr Matrix: None\n"
    "\n"
    "[V4+ Styles]\n"
    "Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, "
    "StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, "
    "Encoding\n";

std::string style_line(const std::string& name, uint32_t rgb) {
  const uint32_t bgr = (rgb & 0xFF) << 16 | (rgb & 0xFF00) | rgb >> 16;
  char line[200];
  std::snprintf(line, sizeof line,
                ",Arial,60,&H00%06X,&H00808080,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,3,1,2,96,96,54,1\n", bgr);
  return "Style: " + name + line;
}

std::string ass_clock(int64_t ms) {
  const int64_t cs = to_cs(ms);
  return std::to_string(cs / 360000) + ':' + two_digits(cs / 6000 % 60) + ':' + two_digits(cs / 100 % 60) + '.' +
         two_digits(cs % 100);
}

// Braces would begin commands. A backslash means something before some letters only, and an invisible word joiner
// keeps it from them.
std::string ass_escaped(std::string text) {
  return escaped(std::move(text), {{"\\", "\\\u2060"}, {"{", "\\{"}, {"}", "\\}"}});
}

// Fields of a line end at commas.
std::string field(std::string_view text) { return escaped(lines_of(text, " "), {{",", ";"}}); }

// Lengths add up from the cue's beginning, so each is the difference of two rounded times: nothing drifts.
std::string ass_text(const Cue& cue, bool karaoke) {
  std::string text;
  std::vector<std::vector<Run>> lines = runs_of(cue);
  std::vector<const Run*> words;
  for (const auto& line : lines)
    for (const Run& run : line)
      if (!run.label) words.push_back(&run);
  const auto length_cs = [](int64_t from_ms, int64_t to_ms) { return std::to_string(to_cs(to_ms) - to_cs(from_ms)); };
  size_t n = 0;
  if (karaoke && !words.empty() && words[0]->start_ms > cue.start_ms)
    text += "{\\k" + length_cs(cue.start_ms, words[0]->start_ms) + '}';
  for (size_t l = 0; l < lines.size(); ++l) {
    if (l > 0) text += "\\N";
    for (const Run& run : lines[l]) {
      if (karaoke && !run.label) {
        const int64_t end_ms = n + 1 < words.size() ? words[n + 1]->start_ms : cue.end_ms;
        text += "{\\k" + length_cs(run.start_ms, end_ms) + '}';
        ++n;
      }
      text += (run.marked ? "{\\u1}" : "") + ass_escaped(run.text) + (run.marked ? "{\\u0}" : "");
    }
  }
  return text;
}

}  // namespace

std::string render_ass(std::span<const Cue> cues, bool karaoke) {
  std::string out = kHeader + style_line("Default", kSpeakerColours[0].rgb);
  const std::vector<std::string> speakers = speakers_of(cues);
  for (size_t i = 0; i < speakers.size(); ++i)
    out += style_line("Speaker " + std::to_string(i + 1), kSpeakerColours[i % std::size(kSpeakerColours)].rgb);
  out += "\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n";
  for (const Cue& cue : cues) {
    const std::string text = ass_text(cue, karaoke);
    if (runs_of(cue).empty()) continue;
    std::string style = "Default";
    if (!cue.speaker.empty())
      style = "Speaker " + std::to_string(number_of_speaker(speakers, cue.speaker) + 1);
    out += "Dialogue: 0," + ass_clock(cue.start_ms) + ',' + ass_clock(cue.end_ms) + ',' + style + ',' + field(cue.speaker) +
           ",0,0,0,," + text + '\n';
  }
  return out;
}

}  // namespace sotto
