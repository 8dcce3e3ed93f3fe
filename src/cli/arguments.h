// The command line of `sotto transcribe`: openai-whisper's options, written with '-' or '_', and a few of sotto's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/decode.h"
#include "kernels/network.h"
#include "models/catalog.h"
#include "src/cli/redo.h"
#include "src/options.h"
#include "src/subtitles/style.h"
#include "src/writers.h"

namespace sotto {

struct OutputArguments {
  std::string folder = ".";     // "-": standard output
  std::vector<Format> formats;  // of the files to write; empty: none
  bool verbose = true;                 // print segments as they come
  bool coverage = false;               // print what became of each second
  bool quiet = false;                  // nothing on stderr but what went wrong
};

struct Arguments {
  std::vector<std::string> files;
  std::string model = "base";
  FetchOptions fetch;
  DecodeOptions decoding;
  NetworkOptions network;
  TranscribeOptions transcribe;
  SubtitleOptions subtitles;
  std::optional<Redo> redo;
  OutputArguments output;
  std::vector<std::string> warnings;  // sentences about what was written but won't be as it says
};

// Arguments after the command's name; none if they asked for help, which is then printed. Throws CLI::ParseError for
// what can't be understood.
std::optional<Arguments> parse_arguments(const std::vector<std::string>& written);

// The same for `sotto align`. files: the sound, then the text; output.folder: the file to write, "-": standard output.
std::optional<Arguments> parse_align_arguments(const std::vector<std::string>& written);

}  // namespace sotto
