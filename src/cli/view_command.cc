#include "src/cli/view_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "models/error.h"
#include "src/cli/argument_values.h"
#include "src/subtitles/read_transcript.h"
#include "src/view/view.h"
#include "src/writers.h"

namespace sotto {
namespace {

// As the transcript names it, or beside the transcript under that name.
std::string sound_of(const Transcript& transcript, const std::string& path) {
  namespace fs = std::filesystem;
  if (transcript.audio.empty() || transcript.audio == "-")
    throw Error(path + " doesn't say which sound it is of; name it by --audio");
  const fs::path beside = fs::path(path).parent_path() / fs::path(transcript.audio).filename();
  for (const std::string& sound : {transcript.audio, beside.string()})
    if (fs::exists(sound)) return sound;
  throw Error("the sound of " + path + ", " + transcript.audio + ", isn't there; name it by --audio");
}

}  // namespace

int view_command(const std::vector<std::string>& written) {
  std::string path, audio, target;
  bool link = false, quiet = false;
  CLI::App app("A transcript as one page of HTML: its waveform, each word to click on and hear, how sure it is, what became of "
               "each second, and search. The page needs nothing but a browser.", "sotto view");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("FILE", path, "a transcript in JSON, with the times of words")->required();
  app.add_option("--audio", audio, "its sound (the file that the transcript names)")->type_name("FILE");
  app.add_option("-o,--output", target, "the page to write; '-': standard output (FILE's name, .html)")->type_name("FILE");
  app.add_flag("--link", link, "refer to the sound instead of holding it, which takes 11 MB an hour");
  app.add_flag("--quiet", quiet, "nothing on standard error but what goes wrong");
  std::vector<std::string> words = normalised(written);
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  const std::vector<Transcript> transcripts = read_transcripts(path);
  if (transcripts.size() != 1) throw Error(path + " holds several transcripts; a page shows one");
  Transcript transcript = transcripts[0];
  if (audio.empty()) audio = sound_of(transcript, path);
  if (target.empty()) target = path == "-" ? "-" : std::filesystem::path(path).replace_extension(".html").string();
  refuse_to_overwrite(target, std::vector<std::string>{path, audio});
  transcript.audio = audio;
  ViewSound sound = listen(audio, !link);
  if (link) sound.link = link_to(audio, target == "-" ? "." : std::filesystem::path(target).parent_path().string());
  const std::string page = view_page(transcript, sound);
  if (target == "-") {
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  write_file(target, page);
  if (!quiet) std::fprintf(stderr, "wrote %s\n", target.c_str());
  return 0;
}

}  // namespace sotto
