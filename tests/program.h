// Runs the program sotto, and keeps what it printed.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "temporary.h"

struct Ran {
  int status;  // exit status; above 128: ended by that signal
  std::string out, err;
};

inline std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// arguments: as a shell takes them. input: what comes before the program in a pipe, or "".
inline Ran run_sotto(const std::string& arguments, const std::string& input = "") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out", err = folder.path() + "/err";
  const std::string command =
      (input.empty() ? "" : input + " | ") + (SOTTO_PROGRAM " ") + arguments + " >" + out + " 2>" + err;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), file_content(out), file_content(err)};
}
