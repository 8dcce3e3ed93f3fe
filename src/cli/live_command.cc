#include "src/cli/live_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/microphone.h"
#include "kernels/cuda/cuda_network.h"
#include "models/catalog.h"
#include "models/error.h"
#include "models/languages.h"
#include "src/cli/argument_values.h"
#include "src/cli/interrupt.h"
#include "src/cli/live_evaluate.h"
#include "src/cli/live_outputs.h"
#include "src/live/kept_sound.h"
#include "src/live/live.h"
#include "src/writers.h"

namespace sotto {
namespace {

constexpr int kInterrupted = 130;  // status, as a shell tells it of a program that Ctrl-C ended

struct LiveArguments {
  std::string model = "base";
  FetchOptions fetch;
  NetworkOptions network;
  LiveOptions live;
  DecodeOptions decoding;
  std::string microphone;  // name or number; empty: the default one
  std::string pipe;      // to read; "-": standard input
  std::string realtime;  // a file to play
  double speed = 1;      // of its clock
  bool refine = false;
  EvaluateArguments evaluate;
  LiveOutputArguments outputs;
  bool quiet = false;
};

std::string language_written(const std::string& written) {
  return written == "None" || written == "none" || written == "auto" ? "" : std::string(language_code(written));
}

void add_what(CLI::App& app, LiveArguments& arguments) {
  TranscribeOptions& text = arguments.live.text;
  const std::string group = "What is spoken, and what to write";
  app.add_option_function<std::string>(
         "--language", [&text](const std::string& written) { text.language = language_written(written); },
         "code or name of the language; auto: detected, again after each pause (auto)")
      ->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--languages",
         [&text](const std::vector<std::string>& written) {
           text.languages.clear();
           for (const std::string& one : written) text.languages.emplace_back(language_code(one));
         },
         "choose among these when the language is detected, for example de,en (all)")
      ->delimiter(',')
      ->group(group);
  app.add_option_function<std::string>(
         "--task", [&text](const std::string& written) { text.translate = written == "translate"; },
         "transcribe, or translate to English (transcribe)")
      ->check(CLI::IsMember({"transcribe", "translate"}))
      ->group(group);
  app.add_option("--hotwords", text.prompt.hotwords, "names and words to expect")->group("Context");
  app.add_option_function<std::string>(
         "--initial-prompt", [&text](const std::string& written) { text.prompt.initial = written; },
         "text to have in mind at the beginning, such as names and their spelling")
      ->group("Context");
}

// When text is committed: later is more often right.
void add_commit(CLI::App& app, LiveArguments& arguments) {
  const std::string group = "When text is committed";
  LiveOptions& live = arguments.live;
  const auto milliseconds = [&app, &group](const std::string& name, int& value, const std::string& help) {
    app.add_option(name, value, help)->check(CLI::Range(0, 30000))->capture_default_str()->group(group);
  };
  milliseconds("--margin-ms", live.commit.margin_ms, "words so long before the end of the sound");
  milliseconds("--stable-ms", live.commit.stable_ms, "... if they were said the same while so much sound came in");
  milliseconds("--doubt-ms", live.commit.doubt_ms, "... while so much came in, where a part of the word isn't probable");
  milliseconds("--sure-ms", live.commit.sure_ms, "... or, whatever was said before, so long before its end");
  app.add_option_function<int>(
         "--pass-ms",
         [&live](const int& ms) { live.chunks_a_pass = std::max(1, (ms * kSampleRate / 1000 + kVadChunk / 2) / kVadChunk); },
         "sound between two looks at it (320)")
      ->check(CLI::Range(100, 5000))
      ->group(group);
  app.add_option("--pause-ms", live.gate.pause_ms, "silence that ends an utterance, and commits all of it")
      ->check(CLI::Range(100, 5000))
      ->capture_default_str()
      ->group(group);
}

void add_source(CLI::App& app, LiveArguments& arguments) {
  const std::string group = "Sound";
  app.add_option("--mic", arguments.microphone,
                 "a microphone, by its name, a part of that or its number: 'sotto devices' (the default one)")
      ->type_name("NAME|n")
      ->group(group);
  app.add_option("PIPE", arguments.pipe, "'-': standard input, any container or raw sound; or a pipe, a device, a URL")
      ->group(group);
  app.add_option_function<std::string>(
         "--raw",
         [&arguments](const std::string& written) {
           try {
             check_raw(written);
           } catch (const Error& error) {
             throw CLI::ValidationError("--raw", error.what());
           }
           arguments.decoding.raw = written;
         },
         "it has no header: sample format, rate and channels, for example s16le:16000:1")
      ->type_name("FORMAT:RATE:CHANNELS")
      ->group(group);
  app.add_option("--realtime", arguments.realtime, "a file, played as fast as it was spoken")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--speed", arguments.speed, "... or so many times as fast, also with --evaluate (1)")
      ->check(CLI::Range(0.1, 1000.0))
      ->group(group);
}

void add_output(CLI::App& app, LiveArguments& arguments) {
  const std::string group = "Output";
  app.add_flag("--refine", arguments.refine,
               "at the end transcribe all of it once more, as sotto FILE does; that replaces what the files hold")
      ->group(group);
}

void add_running(CLI::App& app, LiveArguments& arguments) {
  app.add_option("-m,--model", arguments.model, "name, file or folder of a model (base)")->group("Model");
  app.add_option("--model-dir", arguments.fetch.model_dir, "where models are kept")->group("Model");
  app.add_flag("--offline", arguments.fetch.offline, "never download anything")->group("Model");
  const std::string group = "Running";
  NetworkOptions& network = arguments.network;
  app.add_option("--threads", network.threads, "threads; 0: one for each processor (0)")
      ->check(CLI::Range(0, 1024))
      ->group(group);
  app.add_option("--device", network.device, "auto, cpu, cuda or cuda:N (auto)")
      ->check([](const std::string& name) {
        return is_device(name) ? std::string() : '"' + name + "\" is none of " + kDevices;
      })
      ->group(group);
  app.add_option("--engine", network.engine, "which network runs (auto)")
      ->check(CLI::IsMember({"auto", "cpu", "reference"}))
      ->group(group);
  app.add_option("--precision", network.precision, "of the network's arithmetic (auto: int8 on a processor)")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16", "int8"}))
      ->group(group);
  app.add_option("--isa", network.isa, "instruction set of the processor's kernels (auto)")->group(group);
  app.add_flag("--quiet", arguments.quiet, "nothing on standard error but what goes wrong")->group(group);
}

// False: help was asked for, and printed.
bool parse(const std::vector<std::string>& written, LiveArguments& arguments) {
  CLI::App app{"Captions of what is being said, as it is said.", "sotto live"};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_source(app, arguments);
  add_what(app, arguments);
  add_commit(app, arguments);
  add_output(app, arguments);
  add_output_options(app, arguments.outputs);
  add_running(app, arguments);
  add_evaluate_options(app, arguments.evaluate);
  std::vector<std::string> words = normalised(written);
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return false;
  }
  const int n_sources = !arguments.pipe.empty() + !arguments.realtime.empty() + !arguments.microphone.empty() +
                        !arguments.evaluate.files.empty();
  if (n_sources > 1)
    throw CLI::ValidationError("live", "there is one thing to listen to: a microphone, a pipe, --realtime or --evaluate");
  check_output_options(arguments.outputs);
  arguments.fetch.quiet = arguments.quiet;
  return true;
}

// Every pass encodes a window, so on a processor captions take the arithmetic that does it two or three times as fast.
NetworkOptions quick(NetworkOptions network) {
  const bool gpu = network.device.starts_with("cuda") ||
                   (leaves_device_open(network) && cuda::find_gpu() == cuda::Found::usable);
  if (!gpu && network.engine != "reference" && (network.precision.empty() || network.precision == "auto"))
    network.precision = "int8";
  return network;
}

std::unique_ptr<LiveSource> open_source(const LiveArguments& arguments, Clock& clock) {
  if (!arguments.realtime.empty()) return play_file(arguments.realtime, arguments.decoding, clock);
  if (!arguments.pipe.empty()) return listen_to_pipe(arguments.pipe, arguments.decoding);
  return listen_to_microphone(arguments.microphone);
}

// With the beams and the precision that files are transcribed with.
Transcript refined(const LiveArguments& arguments, Engine& live, const KeptSound& kept) {
  TranscribeOptions options = arguments.live.text;
  NetworkOptions network = arguments.network;
  network.max_rows = std::max(options.sampling.beam_size, options.sampling.best_of);
  live.network.reset();
  live.network = open_network(live.weights, network);
  live.vad->reset();
  options.words.timestamps = true;
  return transcribe(live, kept.sound(), options, {});
}

// That somebody ends it is how a session ends: status 0. It is 130 where nothing was heard yet, because the model was still
// on its way, and where figures would not be of all that was to be measured. hearing: set once all is there.
int run(LiveArguments& arguments, bool& hearing) {
  std::optional<LiveOutputs> outputs;  // what can't be written is told before anything else is done
  if (arguments.evaluate.files.empty())
    outputs.emplace(arguments.outputs, std::vector{arguments.realtime, arguments.pipe});
  WallClock clock(arguments.speed);
  std::unique_ptr<LiveSource> source;  // first of all, so that what is said while the model loads is kept
  if (arguments.evaluate.files.empty()) source = open_source(arguments, clock);
  arguments.network.warn = [](const std::string& sentence) {
    std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str());
  };
  Engine engine = open_engine(locate_model(arguments.model, arguments.fetch), quick(arguments.network));
  engine.vad = std::make_unique<Vad>(locate_vad(arguments.fetch));
  if (!arguments.quiet)
    std::fprintf(stderr, "sotto " SOTTO_VERSION ": %s on %s\n", engine.weights->name.c_str(),
                 engine.network->description().c_str());
  hearing = true;
  if (!source) {
    arguments.evaluate.speed = arguments.speed;
    return evaluate_live(arguments.evaluate, engine, arguments.live, arguments.network, locate_vad(arguments.fetch))
               ? 0
               : kInterrupted;
  }
  std::optional<KeptSound> kept;
  if (arguments.refine) kept.emplace();
  LiveListener listener;
  listener.stopped = [] { return interrupted.load(); };
  listener.sound = [&](std::span<const float> sound) {
    outputs->record(sound);
    if (kept) kept->push(sound);
  };
  std::optional<Error> trouble;  // with what was written: no reason not to refine
  try {
    caption(engine, *source, arguments.live, outputs->captions(), listener);
    outputs->finish();
  } catch (const Error& error) {
    trouble = error;
  }
  source.reset();  // the microphone is let go of
  if (kept) outputs->refine(refined(arguments, engine, *kept));
  if (trouble) throw *trouble;
  return 0;
}

}  // namespace

int live_command(const std::vector<std::string>& written) {
  LiveArguments arguments;
  if (!parse(written, arguments)) return 0;
  catch_interrupts({SIGINT, SIGTERM, SIGHUP});
  arguments.decoding.stop = &interrupted;
  arguments.fetch.stop = &interrupted;
  bool hearing = false;
  try {
    return run(arguments, hearing);
  } catch (const Error&) {
    if (hearing || !interrupted) throw;
    return kInterrupted;
  }
}

}  // namespace sotto
