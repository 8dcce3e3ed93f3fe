#include "src/cli/transcribe_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/error.h"
#include "src/cli/interrupt.h"
#include "src/cli/progress.h"
#include "src/coverage.h"
#include "src/subtitles/layout.h"
#include "src/subtitles/shots.h"
#include "src/transcribe.h"
#include "src/writers.h"

namespace sotto {
namespace {

// Whatever file it happens at, it isn't that file's fault, and the next one would fare no better.
struct OutputLost : Error {
  using Error::Error;
};

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw OutputLost(std::string("standard output can't be written to: ") + std::strerror(errno));
}

// What can be opened twice, and is there now or never: no pipe, no device and nothing on a network.
bool can_be_tried(const std::string& path) {
  if (path == "-" || path.find("://") != path.npos) return false;
  struct stat status = {};
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

std::string joined(const std::vector<std::string>& paths) {
  std::string all;
  for (const std::string& path : paths) all += (all.empty() ? "" : ", ") + path;
  return all;
}

// Transcribes one file after the other, and says on stderr how it goes.
class Command {
 public:
  explicit Command(const Arguments& arguments) : arguments_(arguments), output_(arguments.output) {}
  int run();

 private:
  std::vector<std::string> usable_files();
  void open_vad();
  std::string target(const std::string& name, Format format) const;
  void refuse_to_overwrite_inputs() const;
  void transcribe_file(const std::string& path);
  void end_interrupted(const Transcript& transcript);
  Listener listener(const std::string& path, ProgressLine& progress);
  std::vector<Cue> cues_of(const Transcript& transcript);
  std::vector<std::string> write(const Transcript& transcript);
  void report_failure(const std::string& path, const Error& error);
  void say(const std::string& sentence) const;

  const Arguments& arguments_;
  const OutputArguments& output_;
  OutputNames names_;
  std::optional<Engine> engine_;
  std::vector<int64_t> cuts_ms_;  // of the picture, from a file
  bool failed_ = false;
  bool silent_ = false;            // no voice was heard in the current file, or it has no sound
  double at_s_ = 0;                // how far the current file has come
  std::optional<double> total_s_;  // ... of its length, where that is known
};

int Command::run() {
  for (const std::string& sentence : arguments_.warnings)
    std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str());
  if (!output_.formats.empty() && output_.folder != "-") {
    std::error_code error;
    std::filesystem::create_directories(output_.folder, error);
    if (error) throw Error("the folder '" + output_.folder + "' can't be made: " + error.message());
    refuse_to_overwrite_inputs();
  }
  const std::string& shots = arguments_.subtitles.shots;
  if (!shots.empty() && shots != "auto") cuts_ms_ = read_cuts_ms(shots);
  const std::vector<std::string> files = usable_files();
  if (files.empty()) return 1;
  NetworkOptions network = arguments_.network;
  network.warn = [](const std::string& sentence) { std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str()); };
  engine_ = open_engine(locate_model(arguments_.model, arguments_.fetch), network);
  say("sotto " SOTTO_VERSION ": " + engine_->weights->name + " on " + engine_->network->description());
  if (arguments_.transcribe.voice_activity) open_vad();
  catch_interrupts();

  for (const std::string& path : files) {
    try {
      transcribe_file(path);
    } catch (const OutputLost&) {
      throw;
    } catch (const Error& error) {
      if (interrupted) end_interrupted({});
      else report_failure(path, error);
    }
    if (interrupted) return 130;
  }
  return failed_ ? 1 : 0;
}

// The files that can be opened, and a sentence for each that can't: nobody should wait for a model to learn of a typing
// mistake.
std::vector<std::string> Command::usable_files() {
  std::vector<std::string> usable;
  for (const std::string& path : arguments_.files) {
    try {
      if (can_be_tried(path)) Decoder(path, arguments_.decoding);
      usable.push_back(path);
    } catch (const Error& error) {
      report_failure(path, error);
    }
  }
  return usable;
}

void Command::report_failure(const std::string& path, const Error& error) {
  failed_ = true;
  const std::string what = error.what();
  const bool named = what.find(path) != std::string::npos;
  std::fprintf(stderr, "sotto: %s\n", (named ? what : path + ": " + what).c_str());
}

void Command::open_vad() {
  try {
    engine_->vad = std::make_unique<Vad>(locate_vad(arguments_.fetch));
  } catch (const Error& error) {
    std::fprintf(stderr, "sotto: warning: silence is decoded like speech, as with --no-vad: %s\n", error.what());
  }
}

std::string Command::target(const std::string& name, Format format) const {
  const auto path = std::filesystem::path(output_.folder) / (name + "." + std::string(extension(format)));
  return path.lexically_normal().string();
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
  at_s_ = 0;
  total_s_.reset();
  silent_ = false;
  Sound sound{path, arguments_.decoding};
  sound.decoding.stop = &interrupted;
  const Transcript transcript = transcribe(*engine_, sound, arguments_.transcribe, listener(path, progress));
  progress.clear();
  if (output_.coverage) std::fputs(coverage_lines(transcript.coverage).c_str(), stderr);
  if (interrupted) return end_interrupted(transcript);
  silent_ |= transcript.duration_s == 0;
  if (const auto written = write(transcript); !written.empty()) say("wrote " + joined(written));

  if (silent_) return;  // nothing was decoded, so there is no speed to tell
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char line[100];
  std::snprintf(line, sizeof line, "%.1f s of sound in %.1f s: %.1f x real time", transcript.duration_s, took_s,
                transcript.duration_s / took_s);
  say(line);
  if (const std::string covered = sentence(transcript.coverage); !covered.empty()) say(covered);
}

// Without text there is nothing to write, and a file from an earlier run may hold all of it. A stretch that isn't whole
// takes no other's place.
void Command::end_interrupted(const Transcript& transcript) {
  std::string sentence = "interrupted at " + rough_time(at_s_);
  if (total_s_) sentence += " of " + rough_time(*total_s_);
  std::vector<std::string> written;
  if (!transcript.text().empty() && !arguments_.redo) written = write(transcript);
  if (!written.empty())
    sentence += "; " + joined(written) + (written.size() == 1 ? " holds " : " hold ") +
                "what was transcribed until there";
  else if (arguments_.redo || (!output_.formats.empty() && output_.folder != "-"))
    sentence += "; nothing was written";
  say(sentence);
}

Listener Command::listener(const std::string& path, ProgressLine& progress) {
  Listener listener;
  listener.segment = [this, &progress](const Segment& segment) {
    const std::string line = terminal_line(segment);
    if (line.empty() || !output_.verbose || output_.folder == "-") return;
    progress.clear();
    print(line + "\n");
  };
  listener.progress = [this, &progress](double at_s, std::optional<double> total_s) {
    at_s_ = at_s;
    total_s_ = total_s;
    progress.show(at_s, total_s);
  };
  listener.detected_language = [this, &progress](const HeardLanguage& language) {
    progress.clear();
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f %%", 100 * language.probability);
    say("language: " + language.code + " (detected, " + percent + ")");
  };
  listener.warning = [&progress](const std::string& sentence) {
    progress.clear();
    std::fprintf(stderr, "sotto: warning: %s\n", sentence.c_str());
  };
  listener.no_voice = [this, &path, &progress](int audio_tracks) {
    progress.clear();
    silent_ = true;
    const std::string others =
        audio_tracks > 1 ? ", --audio-track takes another of its " + std::to_string(audio_tracks) + " tracks" : "";
    say(path + ": no voice was heard; --no-vad decodes it all the same" + others);
  };
  listener.stopped = [] { return interrupted.load(); };
  return listener;
}

std::vector<Cue> Command::cues_of(const Transcript& transcript) {
  if (arguments_.subtitles.shots == "auto") {
    try {
      cuts_ms_ = find_cuts_ms(transcript.audio, interrupted);
    } catch (const Error& error) {
      cuts_ms_.clear();
      std::fprintf(stderr, "sotto: warning: %s\n", error.what());
    }
  }
  std::vector<Cue> cues = lay_out(transcript, arguments_.subtitles, cuts_ms_);
  return arguments_.subtitles.highlight_words ? with_each_word_marked(cues) : cues;
}

// Gives the paths of the files.
std::vector<std::string> Command::write(const Transcript& transcript) {
  std::vector<std::string> written;
  if (arguments_.redo) {
    write_redo(*arguments_.redo, transcript, arguments_.subtitles);
    return {arguments_.redo->path};
  }
  const std::string name = names_.next(transcript.audio);
  std::vector<Cue> cues;
  if (std::any_of(output_.formats.begin(), output_.formats.end(), has_cues)) cues = cues_of(transcript);
  for (const Format format : output_.formats) {
    const std::string content = render(transcript, cues, format, arguments_.subtitles.karaoke);
    if (output_.folder == "-") {
      print(content);
      continue;
    }
    written.push_back(target(name, format));
    write_file(written.back(), content);
  }
  return written;
}

void Command::say(const std::string& sentence) const {
  if (!output_.quiet) std::fprintf(stderr, "%s\n", sentence.c_str());
}

}  // namespace

int transcribe_command(const Arguments& arguments) { return Command(arguments).run(); }

}  // namespace sotto
