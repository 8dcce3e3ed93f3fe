// The models that have names: what each is, where it comes from, and where it lies on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/dims.h"

namespace sotto {

struct CatalogEntry {
  std::string_view name;
  Dims dims;
  std::span<const std::pair<int, int>> alignment_heads;  // (decoder layer, head); empty: not known
};

std::span<const CatalogEntry> catalog();
const CatalogEntry* find_in_catalog(std::string_view name_or_alias);  // null if there is none

// Where models are kept: $SOTTO_HOME, else $XDG_CACHE_HOME/sotto, else ~/.cache/sotto. models/<name> below it.
std::string sotto_home();

// The path of a model for -m: a file or folder as it is, else a name from the catalog, which is fetched if it isn't
// there (unless offline). model_dir replaces sotto_home() when it isn't empty. Throws Error.
struct FetchOptions {
  std::string model_dir;
  bool offline = false;
  bool quiet = false;  // no progress bar on stderr
};
std::string locate_model(const std::string& name_or_path, const FetchOptions& options);

}  // namespace sotto
