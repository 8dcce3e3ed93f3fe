// Where `sotto live` puts captions, as its command line has it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "audio/record.h"
#include "src/live/outputs/fan_out.h"
#include "src/subtitles/style.h"
#include "src/transcript.h"

namespace sotto {

struct LiveOutputArguments {
  std::string srt, vtt, jsonl;      // files; empty: none; jsonl "-": standard output
  SubtitleOptions subtitles;
  std::string serve, serve_token;   // an address; empty: none
  std::string record;               // a file; empty: none
};

void add_output_options(CLI::App& app, LiveOutputArguments& arguments);

// Throws CLI::ValidationError for what no machine could do: an address or a token that is none, a style that needs the
// whole transcript.
void check_output_options(const LiveOutputArguments& arguments);

// All outputs at once, and the recording. Standard output gets the captions as they roll on a terminal, and lines
// elsewhere, unless JSON goes there.
class LiveOutputs {
 public:
  // Opens them all; says where captions are served on standard error. Throws Error for what can't be opened, and for a file
  // that is one of the inputs, from which captions are made.
  LiveOutputs(const LiveOutputArguments& arguments, std::span<const std::string> inputs);

  CaptionOutput& captions() { return *captions_; }
  void record(std::span<const float> sound);  // as it is heard; tells what goes wrong with it as notices
  void finish();                              // the recording. Throws Error if it lacks something

  // Puts a transcript of the whole session, with the times of its words, in the place of what the files of --srt, --vtt and
  // --jsonl hold, each at once; on standard output it follows, as JSON where that went there. A pipe keeps what it got.
  // After captions().finish(). Throws Error.
  void refine(const Transcript& transcript) const;

 private:
  const LiveOutputArguments arguments_;
  std::optional<Recorder> recorder_;
  std::unique_ptr<FanOut> captions_;
  double heard_s_ = 0;
};

}  // namespace sotto
