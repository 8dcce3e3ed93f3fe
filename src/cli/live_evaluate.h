// `sotto live --evaluate`: the options, and what is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kernels/network.h"
#include "models/fetch.h"
#include "src/live/captioner.h"

namespace sotto {

struct EvaluateArguments {
  std::vector<std::string> files;
  std::string reference;   // a table of texts; empty: the .txt file beside each
  std::string word_times;  // a table of words; empty: those of the file's transcript
  std::string transcripts; // a jsonl file of the files' transcripts; empty: they are made
  std::string clock = "wall";
  double speed = 1;        // of the clock
  bool as_json = false;
  bool texts = false;      // print what the captions said, too
};

void add_evaluate_options(CLI::App& app, EvaluateArguments& arguments);

// engine: with what captions are made, opened by these options. False if it was interrupted. Throws Error.
bool evaluate_live(const EvaluateArguments& arguments, Engine& engine, const LiveOptions& options,
                   const NetworkOptions& network, const std::string& vad_path);

}  // namespace sotto
