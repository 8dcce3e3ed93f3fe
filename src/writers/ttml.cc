// TTML in the text profile of IMSC 1.1, which broadcasters and streaming services take.
#include <cstdio>
#include <iterator>

#include "models/utf8.h"
#include "src/writers/families.h"
#include "src/writers/text.h"

namespace sotto {
namespace {

bool is_written_from_right(std::string_view language) {
  for (const std::string_view code : {"ar", "fa", "he", "ps", "sd", "ur", "yi"})
    if (language == code) return true;
  return false;
}

// A region at the lower edge, in the middle 80 % of the picture, that grows upwards.
std::string head(const std::vector<std::string>& speakers) {
  std::string out =
      "  <head>\n    <styling>\n"
      "      <style xml:id=\"all\" tts:fontFamily=\"proportionalSansSerif\" tts:fontSize=\"100%\" tts:lineHeight=\"125%\" "
      "tts:color=\"#FFFFFF\" tts:backgroundColor=\"transparent\" tts:textAlign=\"center\"/>\n"
      "      <style xml:id=\"text\" tts:backgroundColor=\"#000000C0\"/>\n";
  for (size_t i = 0; i < speakers.size(); ++i) {
    char colour[16];
    std::snprintf(colour, sizeof colour, "#%06X", kSpeakerColours[i % std::size(kSpeakerColours)].rgb);
    out += "      <style xml:id=\"speaker" + std::to_string(i + 1) + "\" tts:color=\"" + colour + "\"/>\n";
  }
  out +=
      "    </styling>\n    <layout>\n"
      "      <region xml:id=\"bottom\" tts:origin=\"10% 10%\" tts:extent=\"80% 80%\" tts:displayAlign=\"after\" "
      "tts:overflow=\"visible\"/>\n"
      "    </layout>\n  </head>\n";
  return out;
}

// With karaoke a word appears when it is spoken; times within a cue count from its beginning.
std::string ttml_text(const Cue& cue, bool karaoke) {
  std::string text;
  for (const auto& line : runs_of(cue)) {
    if (!text.empty()) text += "<br/>";
    text += "<span style=\"text\">";
    for (const Run& run : line) {
      const std::string word = xml_escaped(run.text);
      const int64_t after_ms = run.start_ms - cue.start_ms;
      std::string attributes;
      if (karaoke && after_ms > 0 && run.start_ms < cue.end_ms) attributes += " begin=\"" + in_seconds(after_ms) + "s\"";
      if (run.marked) attributes += " tts:textDecoration=\"underline\"";
      text += attributes.empty() ? word : "<span" + attributes + '>' + word + "</span>";
    }
    text += "</span>";
  }
  return text;
}

}  // namespace

std::string render_ttml(std::span<const Cue> cues, std::string_view language, bool karaoke) {
  if (language == "unknown") language = "";
  const std::vector<std::string> speakers = speakers_of(cues);
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<tt xmlns=\"http://www.w3.org/ns/ttml\" xmlns:ttp=\"http://www.w3.org/ns/ttml#parameter\" "
      "xmlns:tts=\"http://www.w3.org/ns/ttml#styling\" xmlns:ttm=\"http://www.w3.org/ns/ttml#metadata\" "
      "ttp:timeBase=\"media\" ttp:contentProfiles=\"http://www.w3.org/ns/ttml/profile/imsc1.1/text\" xml:lang=\"" +
      xml_escaped(lines_of(language, " ")) + "\">\n" + head(speakers) + "  <body style=\"all\" region=\"bottom\"" +
      (is_written_from_right(language) ? " tts:direction=\"rtl\"" : "") + ">\n    <div>\n";
  for (const Cue& cue : cues) {
    const std::string text = ttml_text(cue, karaoke);
    if (text.empty()) continue;
    out += "      <p begin=\"" + clock(cue.start_ms, Hours::always, '.') + "\" end=\"" +
           clock(cue.end_ms, Hours::always, '.') + '"';
    if (!cue.speaker.empty()) out += " style=\"speaker" + std::to_string(number_of_speaker(speakers, cue.speaker) + 1) + '"';
    out += '>' + text + "</p>\n";
  }
  return out + "    </div>\n  </body>\n</tt>\n";
}

}  // namespace sotto
