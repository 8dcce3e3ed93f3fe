#include "src/cli/align_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/error.h"
#include "models/utf8.h"
#include "src/align/align.h"
#include "src/align/retime_cues.h"
#include "src/cli/arguments.h"
#include "src/cli/progress.h"
#include "src/subtitles/layout.h"
#include "src/subtitles/read_text_file.h"
#include "src/subtitles/read_transcript.h"
#include "src/subtitles/shots.h"
#include "src/subtitles/units.h"
#include "src/writers.h"

namespace sotto {
namespace {

constexpr size_t kMostTold = 20;  // sentences about what wasn't heard

// What TEXT holds.
struct Source {
  CueFile subtitles;              // if it is any: one text a cue
  std::vector<GivenText> texts;
  std::vector<int> lines;         // of the file at which they are, from 1; empty: not known
};

// Sentence by sentence, line by line.
Source plain_text(const std::string& content, const std::string& language) {
  Source source;
  int number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    Transcript line;
    line.language = language;
    line.segments.push_back({.text = content.substr(begin, end - begin)});
    ++number;
    bool first = true;
    for (const Unit& unit : units_of(line, 1000)) {
      if (first || unit.begins_sentence) {
        source.texts.push_back({"", ""});
        source.lines.push_back(number);
      }
      std::string& text = source.texts.back().text;
      text.append(unit.space || text.empty() ? " " : "").append(unit.word.text);
      first = false;
    }
    begin = end + 1;
  }
  return source;
}

Source read_source(const std::string& path, const std::string& language) {
  const std::string content = read_text_file(path);
  Source source;
  const size_t first = content.find_first_not_of(" \t\n");  // a number alone is text, though it is JSON, too
  const bool json = path != "-" && first != content.npos && (content[first] == '{' || content[first] == '[') &&
                    nlohmann::json::accept(content);
  if (!json) source.subtitles = parse_cue_file(content);
  if (!source.subtitles.cues.empty()) {
    for (const FileCue& cue : source.subtitles.cues) {
      source.texts.push_back({' ' + shown_text(cue, source.subtitles.format), ""});
      source.lines.push_back(cue.line);
    }
  } else if (json) {
    for (const Transcript& transcript : read_transcripts(path))
      for (const Segment& segment : transcript.segments) source.texts.push_back({segment.text, segment.speaker});
  } else {
    source = plain_text(content, language);
  }
  if (std::ranges::all_of(source.texts, [](const GivenText& text) { return strip(text.text).empty(); }))
    throw Error(input_name(path) + " holds no text to align");
  return source;
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 80;
  text = strip(text);
  std::string out = "\"" + std::string(text.substr(0, kMost));
  if (text.size() > kMost) out = "\"" + std::string(strip(out.substr(1, out.find_last_of(' ') - 1))) + " …";
  return valid_utf8(out) + '"';
}

Format format_of(const CueFile& file) { return parse_formats(extension_of(file.format))[0]; }

class Command {
 public:
  explicit Command(const Arguments& arguments)
      : arguments_(arguments), audio_(arguments.files[0]), text_(arguments.files[1]),
        source_(read_source(text_, arguments.transcribe.language)) {}

  int run() {
    refuse_to_overwrite(arguments_.output.folder, std::vector{audio_});  // new times for subtitles may go into their file
    std::string content;
    const Format format = output_format();
    const AlignedText aligned = align();
    if (source_.subtitles.cues.empty())
      content = of_text(aligned.transcript, format);
    else
      content = of_subtitles(aligned.transcript, format);
    tell(aligned);
    const std::string& target = arguments_.output.folder;
    if (target == "-")
      std::fwrite(content.data(), 1, content.size(), stdout);
    else
      write_file(target, content);
    if (target != "-") say("wrote " + target);
    return 0;
  }

 private:
  // As asked for, as the file to write is called, or as the text is.
  Format output_format() const {
    if (!arguments_.output.formats.empty()) return arguments_.output.formats[0];
    const std::string end = std::filesystem::path(arguments_.output.folder).extension().string();
    if (arguments_.output.folder != "-" && end.size() > 1) return parse_formats(end.substr(1))[0];
    return source_.subtitles.cues.empty() ? Format::srt : format_of(source_.subtitles);
  }

  AlignedText align() {
    NetworkOptions network = arguments_.network;
    network.warn = [](const std::string& sentence) { std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str()); };
    Engine engine = open_engine(locate_model(arguments_.model, arguments_.fetch), network);
    say("sotto align: " + engine.weights->name + " on " + engine.network->description());
    if (arguments_.transcribe.voice_activity) {
      try {
        engine.vad = std::make_unique<Vad>(locate_vad(arguments_.fetch));
      } catch (const Error& error) {
        std::fprintf(stderr, "sotto: warning: silence counts as speech, as with --no-vad: %s\n", error.what());
      }
    }
    ProgressLine progress(!arguments_.output.quiet && isatty(STDERR_FILENO));
    Listener listener;
    listener.progress = [&](double at_s, std::optional<double> total_s) { progress.show(at_s, total_s); };
    listener.warning = [&](const std::string& sentence) {
      progress.clear();
      std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str());
    };
    return align_text(engine, {audio_, arguments_.decoding}, arguments_.transcribe, source_.texts, listener);
  }

  std::string of_text(Transcript transcript, Format format) const {
    std::erase_if(transcript.segments, [](const Segment& segment) { return segment.words.empty(); });
    for (size_t i = 0; i < transcript.segments.size(); ++i) transcript.segments[i].id = static_cast<int>(i);
    const std::string& shots = arguments_.subtitles.shots;
    std::vector<int64_t> cuts_ms;
    if (!shots.empty()) cuts_ms = shots == "auto" ? find_cuts_ms(audio_, false) : read_cuts_ms(shots);
    std::vector<Cue> cues = lay_out(transcript, arguments_.subtitles, cuts_ms);
    if (arguments_.subtitles.highlight_words) cues = with_each_word_marked(cues);
    return render(transcript, cues, format, arguments_.subtitles.karaoke);
  }

  std::string of_subtitles(Transcript transcript, Format format) {
    const CueFile before = source_.subtitles;
    CueFile& file = source_.subtitles;
    const SubtitleStyle style = resolve(arguments_.subtitles, transcript.language);
    const auto end_ms = static_cast<int64_t>(transcript.duration_s * 1000);
    const std::vector<int> kept = retime_by_words(file, transcript.segments, style, end_ms);
    n_left_out_ = before.cues.size() - file.cues.size();
    if (format == format_of(file) && !arguments_.subtitles.karaoke)
      return write_cue_file(file, moved_within(before, file, kept));
    const std::vector<Cue> cues = cues_of(file, transcript.segments, kept);
    std::erase_if(transcript.segments, [](const Segment& segment) { return segment.words.empty(); });
    return render(transcript, cues, format, arguments_.subtitles.karaoke);
  }

  void tell(const AlignedText& aligned) const {
    size_t n = 0;
    for (const auto& unheard : aligned.unheard) {
      if (++n > kMostTold) continue;
      const std::string place = source_.lines.empty() ? "" : ":" + std::to_string(source_.lines[unheard.segment]);
      std::fprintf(stderr, "%s%s: not heard: %s\n", input_name(text_).c_str(), place.c_str(), in_quotes(unheard.text).c_str());
    }
    for (const auto& untold : aligned.untold) {
      if (++n > kMostTold) continue;
      std::fprintf(stderr, "%s, %s to %s: there is no text for %s\n", audio_.c_str(), rough_time(untold.start_s).c_str(),
                   rough_time(untold.end_s).c_str(), in_quotes(untold.text).c_str());
    }
    if (n > kMostTold) std::fprintf(stderr, "... and %zu more\n", n - kMostTold);
    if (n_left_out_ > 0)
      std::fprintf(stderr, "sotto: warning: %zu cues that weren't heard are left out, because there is no room for them\n",
                   n_left_out_);
  }

  void say(const std::string& sentence) const {
    if (!arguments_.output.quiet) std::fprintf(stderr, "%s\n", sentence.c_str());
  }

  const Arguments& arguments_;
  const std::string audio_, text_;
  Source source_;
  size_t n_left_out_ = 0;
};

}  // namespace

int align_command(const std::vector<std::string>& words) {
  const auto arguments = parse_align_arguments(words);
  return arguments ? Command(*arguments).run() : 0;
}

}  // namespace sotto
