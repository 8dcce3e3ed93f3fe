#include "src/cli/live_outputs.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "models/dims.h"
#include "src/cli/argument_values.h"
#include "src/cli/subtitle_options.h"
#include "src/live/outputs/access.h"
#include "src/live/outputs/events.h"
#include "src/live/outputs/json_output.h"
#include "src/live/outputs/line_output.h"
#include "src/live/outputs/live_cues.h"
#include "src/live/outputs/server_output.h"
#include "src/live/outputs/subtitle_output.h"
#include "src/live/outputs/terminal_output.h"
#include "src/subtitles/layout.h"
#include "src/writers.h"

namespace sotto {
namespace {

// What the user should know, on standard error, where no terminal shows it among the captions.
class NoticeOutput : public CaptionOutput {
 public:
  void update(const CaptionUpdate&) override {}
  void level(double, float, bool) override {}
  void notice(double, const std::string& sentence) override { std::fprintf(stderr, "sotto: %s\n", sentence.c_str()); }
  void finish() override {}
};

// One whose content can be replaced.
bool is_file(const std::string& path) { return !path.empty() && path != "-" && std::filesystem::is_regular_file(path); }

}  // namespace

void add_output_options(CLI::App& app, LiveOutputArguments& arguments) {
  const std::string group = "Output";
  const auto add = [&](const char* name, const char* value, const char* help, std::string& target) {
    return app.add_option(name, target, help)->type_name(value)->group(group);
  };
  add("--srt", "FILE", "subtitles that grow cue by cue, whole at any time", arguments.srt);
  add("--vtt", "FILE", "likewise as WebVTT", arguments.vtt);
  add("--jsonl", "FILE", "events with the times of words, a line of JSON each; '-': on standard output", arguments.jsonl);
  add("--serve", "ADDRESS:PORT",
      "a page for OBS or any browser, and a WebSocket of events at /events; beyond this machine (0.0.0.0:8765) with a token",
      arguments.serve);
  add("--serve-token", "TOKEN", "the token, instead of a new one each time", arguments.serve_token)
      ->envname("SOTTO_SERVE_TOKEN");
  add("--record", "FILE.flac", "what was heard, as it was heard; a file that is there is left alone", arguments.record);
  add_subtitle_options(app, arguments.subtitles);
}

void check_output_options(const LiveOutputArguments& arguments) {
  if (!arguments.serve.empty()) {
    refuse_errors("--serve", [&] { parse_listen_address(arguments.serve); });
    if (!arguments.serve_token.empty()) refuse_errors("--serve-token", [&] { check_token(arguments.serve_token); });
  }
  if (arguments.srt.empty() && arguments.vtt.empty()) return;
  check_subtitle_options(arguments.subtitles);
  refuse_errors("--srt, --vtt", [&] { LiveCues cues(arguments.subtitles); });
}

LiveOutputs::LiveOutputs(const LiveOutputArguments& arguments, std::span<const std::string> inputs)
    : arguments_(arguments) {
  for (const std::string& target : {arguments.srt, arguments.vtt, arguments.jsonl}) refuse_to_overwrite(target, inputs);
  std::vector<std::unique_ptr<CaptionOutput>> outputs;
  if (!arguments.srt.empty())
    outputs.push_back(std::make_unique<SubtitleOutput>(arguments.srt, Format::srt, arguments.subtitles));
  if (!arguments.vtt.empty())
    outputs.push_back(std::make_unique<SubtitleOutput>(arguments.vtt, Format::vtt, arguments.subtitles));
  if (!arguments.jsonl.empty()) outputs.push_back(std::make_unique<JsonOutput>(arguments.jsonl));
  if (!arguments.serve.empty()) {
    auto server = std::make_unique<ServerOutput>(
        ServerOptions{.address = parse_listen_address(arguments.serve), .token = arguments.serve_token});
    std::fprintf(stderr, "sotto: captions are at %s\n", server->page_url().c_str());
    outputs.push_back(std::move(server));
  }
  if (!arguments.record.empty()) recorder_.emplace(arguments.record);
  const bool json_printed = arguments.jsonl == "-";
  if (!json_printed && ::isatty(STDOUT_FILENO)) {
    outputs.push_back(std::make_unique<TerminalOutput>(STDOUT_FILENO));
  } else {
    outputs.push_back(std::make_unique<NoticeOutput>());
    if (!json_printed) outputs.push_back(std::make_unique<LineOutput>("-"));
  }
  // A reader that leaves ends the program, unless others still want something of it.
  if (outputs.size() > 2 || recorder_) std::signal(SIGPIPE, SIG_IGN);
  captions_ = std::make_unique<FanOut>(std::move(outputs));
}

void LiveOutputs::record(std::span<const float> sound) {
  heard_s_ += static_cast<double>(sound.size()) / kSampleRate;
  if (!recorder_) return;
  recorder_->write(sound);
  for (const std::string& sentence : recorder_->take_notices()) captions_->notice(heard_s_, sentence);
}

void LiveOutputs::refine(const Transcript& transcript) const {
  SubtitleOptions layout = arguments_.subtitles;
  if (layout.style.empty()) layout.style = "broadcast";  // as while it grew
  const std::vector<Cue> cues = lay_out(transcript, layout);
  if (is_file(arguments_.srt)) write_file(arguments_.srt, render(transcript, cues, Format::srt));
  if (is_file(arguments_.vtt)) write_file(arguments_.vtt, render(transcript, cues, Format::vtt));
  if (is_file(arguments_.jsonl)) write_file(arguments_.jsonl, refined_lines(transcript));
  if (arguments_.jsonl == "-") {
    std::fputs(refined_lines(transcript).c_str(), stdout);
    return;
  }
  for (const Segment& segment : transcript.segments)
    if (const std::string line = terminal_line(segment); !line.empty()) std::printf("%s\n", line.c_str());
}

void LiveOutputs::finish() {
  if (recorder_) recorder_->finish();
}

}  // namespace sotto
