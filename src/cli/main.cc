// The program: which command is meant, and how its errors end.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "models/error.h"
#include "src/cli/align_command.h"
#include "src/cli/arguments.h"
#include "src/cli/bench_command.h"
#include "src/cli/devices_command.h"
#include "src/cli/live_command.h"
#include "src/cli/models_command.h"
#include "src/cli/subtitles_command.h"
#include "src/cli/transcribe_command.h"
#include "src/cli/view_command.h"

namespace {

constexpr char kHelp[] = R"(sotto: speech to text with times

  sotto FILE…                      print what is spoken in sound or video files
  sotto FILE… -f srt -o FOLDER     write subtitles (or txt, vtt, ass, ttml, json, csv …)
  sotto - < FILE                   read standard input

  -m, --model NAME                 a model's name, file or folder (base)
  --language LANGUAGE              the language spoken, if it is known
  --task translate                 write English whatever is spoken
  --beam-size 1                    faster, a little less exact
  --initial-prompt TEXT            names and words to expect
  --quiet                          nothing on standard error but what goes wrong

  sotto transcribe --help          all options, by what they are for
  sotto live, sotto devices        captions of what is being said; the microphones there are
  sotto subtitles FILE.json        subtitles in another layout or format, without transcribing again
  sotto check FILE.srt             what breaks the rules of a layout
  sotto retime FILE.srt --shift 2  subtitles moved or stretched in time
  sotto view FILE.json             a transcript as a page to read, hear and search
  sotto align FILE TEXT            times for a transcript or subtitles that are there
  sotto models                     list, fetch, describe and remove models
  sotto bench                      this machine's limits, and each stage's share of them
  sotto --version
)";

int usage_error(const CLI::ParseError& error, const char* command) {
  std::fprintf(stderr, "sotto: %s\n'sotto %s --help' tells more.\n", error.what(), command);
  return 2;
}

// A command that CLI11 parses and runs by itself.
int subcommand(std::vector<std::string> words, void (*add)(CLI::App&)) {
  CLI::App app("", "sotto");
  add(app);
  const std::string name = words[0];
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(std::move(words));
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return usage_error(error, name.c_str());
  }
}

int run_command(std::vector<std::string> words, int (*command)(const std::vector<std::string>&)) {
  const std::string name = words[0];
  words.erase(words.begin());
  try {
    return command(words);
  } catch (const CLI::ParseError& error) {
    return usage_error(error, name.c_str());
  }
}

int transcribe(const std::vector<std::string>& words) {
  try {
    const auto arguments = sotto::parse_arguments(words);
    return arguments ? sotto::transcribe_command(*arguments) : 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(error, "transcribe");
  }
}

int run(std::vector<std::string> words) {
  const std::string first = words.empty() ? "" : words[0];
  if (first == "--version") return std::puts("sotto " SOTTO_VERSION) < 0;
  if (words.empty() || first == "--help" || first == "-h" || first == "help") {
    std::fputs(kHelp, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  if (first == "models") return subcommand(std::move(words), sotto::add_models_command);
  if (first == "bench") return subcommand(std::move(words), sotto::add_bench_command);
  if (first == "devices") return run_command(std::move(words), sotto::devices_command);
  if (first == "live") return run_command(std::move(words), sotto::live_command);
  if (first == "subtitles") return run_command(std::move(words), sotto::subtitles_command);
  if (first == "align") return run_command(std::move(words), sotto::align_command);
  if (first == "view") return run_command(std::move(words), sotto::view_command);
  if (first == "check") return run_command(std::move(words), sotto::check_command);
  if (first == "retime") return run_command(std::move(words), sotto::retime_command);
  if (first == "transcribe") words.erase(words.begin());
  return transcribe(words);
}

// Without standard output or error the next file opened would get their number, and what is printed with it. Like this
// printing fails, as it did.
void keep_standard_files_apart() {
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || null == file) continue;
    dup2(null, file);
    close(null);
  }
}

// Model files are mapped: one that is cut short, or on a disk that fails, shows when its weights are read.
void end_on_lost_file(int) {
  constexpr char kMessage[] = "sotto: a model file changed or could no longer be read; fetch or copy it anew\n";
  if (write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) _exit(1);
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // "sotto FILE | head" ends without a word
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is told like a full disk
  std::signal(SIGBUS, end_on_lost_file);
  keep_standard_files_apart();
  try {
    const int status = run({argv + 1, argv + argc});
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
    if (status == 0) std::fputs("sotto: standard output can't be written to\n", stderr);
    return std::max(status, 1);
  } catch (const std::bad_alloc&) {
    std::fputs("sotto: there is not enough memory; use a smaller model or fewer beams, or end other programs\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sotto: %s\n", error.what());
    return 1;
  }
}
