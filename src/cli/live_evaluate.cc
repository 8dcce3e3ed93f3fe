#include "src/cli/live_evaluate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "kernels/team.h"
#include "models/error.h"
#include "src/cli/interrupt.h"
#include "src/live/evaluate.h"
#include "src/live/outputs/json_output.h"
#include "src/live/reference.h"
#include "src/subtitles/read_transcript.h"

namespace sotto {
namespace {

class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "sotto-evaluate-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw Error(path_ + " can't be made: set TMPDIR to a folder that can be written to");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Captions in a file of JSON lines, so that the price of writing is paid, and what a reader of it finds can be compared.
class Written : public ReadableOutput {
 public:
  Written() : path_(folder_.path() + "/captions.jsonl"), json_(path_) {}

  void update(const CaptionUpdate& update) override { json_.update(update); }
  void level(double heard_s, float level_db, bool speaking) override { json_.level(heard_s, level_db, speaking); }
  void notice(double, const std::string& sentence) override { std::fprintf(stderr, "sotto: %s\n", sentence.c_str()); }
  void finish() override { json_.finish(); }

  std::string committed_text() override {
    std::string text, line;
    for (std::ifstream file(path_); std::getline(file, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "committed") text += event["text"];
    }
    return text;
  }

 private:
  ScratchFolder folder_;
  const std::string path_;
  JsonOutput json_;
};

bool stopped() { return interrupted; }

// Transcripts of the files, at the quality that `sotto FILE` has.
class FileMode {
 public:
  FileMode(const EvaluateArguments& arguments, std::shared_ptr<const Weights> weights, NetworkOptions network,
           const TranscribeOptions& text, const std::string& vad_path)
      : weights_(std::move(weights)), network_(std::move(network)), options_(text), vad_path_(vad_path) {
    options_.words.timestamps = true;
    network_.precision = "";
    network_.max_rows = std::max(options_.sampling.beam_size, options_.sampling.best_of);
    if (arguments.transcripts.empty()) return;
    for (Transcript& transcript : read_transcripts(arguments.transcripts))
      made_.emplace(transcript.audio, std::move(transcript));
  }

  Transcript of(const std::string& path) {
    if (const auto found = made_.find(path); found != made_.end()) return found->second;
    if (!engine_)
      engine_.emplace(Engine{weights_, Tokenizer(weights_->dims.vocabulary), open_network(weights_, network_),
                             std::make_unique<Vad>(vad_path_)});
    Listener listener;
    listener.stopped = stopped;
    return transcribe(*engine_, {path, {}}, options_, listener);
  }

 private:
  std::shared_ptr<const Weights> weights_;
  NetworkOptions network_;
  TranscribeOptions options_;
  const std::string vad_path_;
  std::map<std::string, Transcript> made_;
  std::optional<Engine> engine_;
};

std::vector<Word> words_of(const Transcript& transcript) {
  std::vector<Word> words;
  for (const Segment& segment : transcript.segments) words.insert(words.end(), segment.words.begin(), segment.words.end());
  return words;
}

}  // namespace

void add_evaluate_options(CLI::App& app, EvaluateArguments& arguments) {
  const std::string group = "Measuring";
  app.add_option("--evaluate", arguments.files,
                 "play these files, whose texts are known, and tell how late and how right the captions are")
      ->type_name("FILE…")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  app.add_option("--reference", arguments.reference,
                 "their texts: a table with tabs and the columns path and reference (FILE.txt beside each)")
      ->type_name("TABLE")
      ->group(group);
  app.add_option("--word-times", arguments.word_times,
                 "when each word is said: a table with the columns path, start, end and word (as sotto FILE finds it)")
      ->type_name("TABLE")
      ->group(group);
  app.add_option("--transcripts", arguments.transcripts,
                 "what sotto FILE gives, with times of words: a file made by -f jsonl --word-timestamps True (made now)")
      ->type_name("JSONL")
      ->group(group);
  app.add_option("--clock", arguments.clock,
                 "wall; or computing: waiting takes no time, and work the processor time over the threads, as if nothing "
                 "else ran (wall)")
      ->check(CLI::IsMember({"wall", "computing"}))
      ->group(group);
  app.add_flag("--json", arguments.as_json, "the figures of all files together, as JSON")->group(group);
  app.add_flag("--texts", arguments.texts, "what the captions said, too, on standard error")->group(group);
}

bool evaluate_live(const EvaluateArguments& arguments, Engine& engine, const LiveOptions& options,
                   const NetworkOptions& network, const std::string& vad_path) {
  FileMode file_mode(arguments, engine.weights, network, options.text, vad_path);
  LiveFigures all;
  if (!arguments.as_json) std::fputs(figures_head().c_str(), stdout);
  for (const std::string& path : arguments.files) {
    const Transcript transcript = file_mode.of(path);
    if (interrupted) return false;
    EvaluatedClip clip{path, reference_of(path, arguments.reference), word_times_of(path, arguments.word_times),
                       transcript.text()};
    if (clip.timed_words.empty()) clip.timed_words = words_of(transcript);
    std::unique_ptr<Clock> clock;
    if (arguments.clock == "wall")
      clock = std::make_unique<WallClock>(arguments.speed);
    else
      clock = std::make_unique<ComputingClock>(network.threads > 0 ? network.threads : default_threads(), arguments.speed);
    engine.vad->reset();
    Written output;
    const LiveFigures figures = evaluate_clip(engine, clip, options, *clock, output, stopped);
    if (interrupted) return false;
    all.add(figures);
    if (!arguments.as_json) {
      std::fputs(figures_line(std::filesystem::path(path).filename().string(), figures).c_str(), stdout);
      std::fputs(parts_lines(figures).c_str(), stdout);
    }
    std::fflush(stdout);
    if (arguments.texts) std::fprintf(stderr, "%s\t%s\n", path.c_str(), figures.text.c_str());
  }
  std::fputs(arguments.as_json ? figures_json(all).c_str() : figures_line("all", all).c_str(), stdout);
  return true;
}

}  // namespace sotto
