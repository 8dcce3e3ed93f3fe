// Outputs of live captions, driven by a script: for tests in a real terminal and a real browser.
//
//   replay_captions OUTPUT…  < SCRIPT      OUTPUT: terminal, lines, json=FILE, srt=FILE, vtt=FILE, serve=ADDRESS
//
// A line of the script is one call: {"heard":1,"committed":"Good morning","tail":"every","ends":true,"behind":2,
// "language":"en"}, {"heard":1,"level":-20,"speaking":true}, or {"heard":1,"notice":"…"}. Words are timed by their order.
// A server's address goes to standard error.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "captions.h"
#include "models/error.h"
#include "src/live/outputs/fan_out.h"
#include "src/live/outputs/json_output.h"
#include "src/live/outputs/line_output.h"
#include "src/live/outputs/server_output.h"
#include "src/live/outputs/subtitle_output.h"
#include "src/live/outputs/terminal_output.h"

using namespace sotto;

namespace {

std::unique_ptr<CaptionOutput> output(const std::string& written) {
  const size_t equals = std::min(written.find('='), written.size());
  const std::string kind = written.substr(0, equals), rest = written.substr(std::min(equals + 1, written.size()));
  if (kind == "terminal") return std::make_unique<TerminalOutput>(STDOUT_FILENO);
  if (kind == "lines") return std::make_unique<LineOutput>("-");
  if (kind == "json") return std::make_unique<JsonOutput>(rest);
  if (kind == "srt") return std::make_unique<SubtitleOutput>(rest, Format::srt, SubtitleOptions());
  if (kind == "vtt") return std::make_unique<SubtitleOutput>(rest, Format::vtt, SubtitleOptions());
  if (kind != "serve") throw Error("there is no output " + written);
  auto server = std::make_unique<ServerOutput>(ServerOptions{.address = parse_listen_address(rest)});
  std::fprintf(stderr, "%s\n", server->page_url().c_str());
  return server;
}

void call(CaptionOutput& all, const nlohmann::json& line) {
  const double heard_s = line.value("heard", 0.0);
  if (line.contains("level")) return all.level(heard_s, line["level"], line.value("speaking", false));
  if (line.contains("notice")) return all.notice(heard_s, line["notice"]);
  all.update({.heard_s = heard_s,
              .behind_s = line.value("behind", 0.0),
              .committed = spoken(line.value("committed", ""), heard_s - 1),
              .tail = spoken(line.value("tail", ""), heard_s),
              .ends_utterance = line.value("ends", false),
              .language = line.value("language", "en")});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::unique_ptr<CaptionOutput>> outputs;
    for (int i = 1; i < argc; ++i) outputs.push_back(output(argv[i]));
    FanOut all(std::move(outputs));
    for (std::string line; std::getline(std::cin, line);) call(all, nlohmann::json::parse(line));
    all.finish();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay_captions: %s\n", error.what());
    return 1;
  }
}
