#include "src/cli/transcribe_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "models/error.h"
#include "src/cli/progress.h"
#include "src/transcribe.h"
#include "src/writers.h"

namespace sotto {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

// The first Ctrl-C asks for an end after the current step, the second one ends the program at once. Who started the
// program deaf to Ctrl-C, as a shell's & and nohup do, wants it to stay so.
void catch_interrupts() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("standard output can't be written to");
}

// Transcribes one file after the other, and says on stderr how it goes.
class Command {
 public:
  explicit Command(const Arguments& arguments) : arguments_(arguments), output_(arguments.output) {}
  int run();

 private:
  void open_vad();
  std::string target(const std::string& name, Format format) const;
  void refuse_to_overwrite_inputs() const;
  void transcribe_file(const std::string& path);
  Listener listener(ProgressLine& progress) const;
  void write(const Transcript& transcript);
  void say(const std::string& sentence) const;

  const Arguments& arguments_;
  const OutputArguments& output_;
  OutputNames names_;
  std::optional<Engine> engine_;
};

int Command::run() {
  if (!output_.formats.empty() && output_.folder != "-") {
    std::error_code error;
    std::filesystem::create_directories(output_.folder, error);
    if (error) throw Error("the folder '" + output_.folder + "' can't be made: " + error.message());
    refuse_to_overwrite_inputs();
  }
  engine_ = open_engine(locate_model(arguments_.model, arguments_.fetch), arguments_.network);
  say("sotto " SOTTO_VERSION ": " + engine_->weights->name + " on " + engine_->network->description());
  if (arguments_.transcribe.voice_activity) open_vad();
  catch_interrupts();

  bool failed = false;
  for (const std::string& path : arguments_.files) {
    try {
      transcribe_file(path);
    } catch (const Error& error) {
      if (interrupted) return 130;
      failed = true;
      const std::string what = error.what();
      const bool named = what.find(path) != std::string::npos;
      std::fprintf(stderr, "sotto: %s\n", (named ? what : path + ": " + what).c_str());
    }
    if (interrupted) {
      say("interrupted: what there is of " + path + " ends early");
      return 130;
    }
  }
  return failed ? 1 : 0;
}

void Command::open_vad() {
  try {
    engine_->vad = std::make_unique<Vad>(locate_vad(arguments_.fetch));
  } catch (const Error& error) {
    std::fprintf(stderr, "sotto: warning: silence is decoded like speech, as with --no-vad: %s\n", error.what());
  }
}

std::string Command::target(const std::string& name, Format format) const {
  return (std::filesystem::path(output_.folder) / name).string() + "." + std::string(extension(format));
}

// A sound file may be called talk.txt, or hide behind a link of that name.
void Command::refuse_to_overwrite_inputs() const {
  std::set<std::pair<dev_t, ino_t>> inputs;
  struct stat status = {};
  for (const std::string& path : arguments_.files)
    if (stat(path.c_str(), &status) == 0) inputs.emplace(status.st_dev, status.st_ino);
  OutputNames names;
  for (const std::string& path : arguments_.files) {
    const std::string name = names.next(path);
    for (const Format format : output_.formats) {
      const std::string file = target(name, format);
      if (stat(file.c_str(), &status) == 0 && inputs.count({status.st_dev, status.st_ino}) > 0)
        throw Error("the transcript of " + path + " would overwrite " + file +
                    ", which is to be transcribed itself; choose another folder by --output-dir");
    }
  }
}

void Command::transcribe_file(const std::string& path) {
  if (arguments_.files.size() > 1) say(path);
  const auto start = std::chrono::steady_clock::now();
  ProgressLine progress(!output_.quiet && isatty(STDERR_FILENO));
  Sound sound{path, arguments_.decoding};
  sound.decoding.stop = &interrupted;
  const Transcript transcript = transcribe(*engine_, sound, arguments_.transcribe, listener(progress));
  progress.clear();
  write(transcript);
  if (interrupted) return;

  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char line[100];
  std::snprintf(line, sizeof line, "%.1f s of sound in %.1f s: %.1f x real time", transcript.duration_s, took_s,
                transcript.duration_s / took_s);
  say(line);
}

Listener Command::listener(ProgressLine& progress) const {
  Listener listener;
  listener.segment = [this, &progress](const Segment& segment) {
    const std::string line = terminal_line(segment);
    if (line.empty() || !output_.verbose || output_.folder == "-") return;
    progress.clear();
    print(line + "\n");
  };
  listener.progress = [&progress](double at_s, std::optional<double> total_s) { progress.show(at_s, total_s); };
  listener.detected_language = [this, &progress](const std::string& code) {
    progress.clear();
    say("language: " + code + " (detected)");
  };
  listener.warning = [&progress](const std::string& sentence) {
    progress.clear();
    std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str());
  };
  listener.stopped = [] { return interrupted.load(); };
  return listener;
}

void Command::write(const Transcript& transcript) {
  const std::string name = names_.next(transcript.audio);
  for (const Format format : output_.formats) {
    const std::string content = render(transcript, format);
    if (output_.folder == "-")
      print(content);
    else
      write_file(target(name, format), content);
  }
}

void Command::say(const std::string& sentence) const {
  if (!output_.quiet) std::fprintf(stderr, "%s\n", sentence.c_str());
}

}  // namespace

int transcribe_command(const Arguments& arguments) { return Command(arguments).run(); }

}  // namespace sotto
