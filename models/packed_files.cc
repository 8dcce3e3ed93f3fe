#include "models/packed_files.h"

#include <algorithm>
#include <filesystem>

#include "models/catalog.h"
#include "models/disk.h"

namespace sotto {

namespace fs = std::filesystem;

std::string packed_folder() { return sotto_home() + "/packed"; }

std::vector<std::string> packed_files(const std::string& digest) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(packed_folder(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (digest.empty() || name.starts_with(digest + "-")) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

int64_t remove_files(const std::vector<std::string>& paths) {
  int64_t freed = 0;
  for (const auto& path : paths) {
    const int64_t bytes = size_on_disk(path);
    remove_all(path);
    freed += bytes;
  }
  return freed;
}

}  // namespace sotto
