// The models that have names: what each is, where it comes from, and where it lies on this machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/dims.h"
#include "models/fetch.h"

namespace sotto {

struct CatalogEntry {
  std::string_view name;
  Dims dims;
  std::span<const std::pair<int, int>> alignment_heads;  // (decoder layer, head); empty: not known
  std::string_view openai_sha256;   // of OpenAI's file, part of its link; empty: they publish none
  std::string_view hub_repository;  // on Hugging Face
};

std::span<const CatalogEntry> catalog();
const CatalogEntry* find_in_catalog(std::string_view name_or_alias);  // null if there is none
std::vector<std::string_view> aliases_of(const CatalogEntry& entry);
int64_t parameters(const Dims& dims);  // how many values the weights have

// The name of the network that finds speech (Silero VAD), which is fetched and removed like a model.
constexpr std::string_view kVadName = "vad";

// Where a model can be had, the best source first.
std::vector<Source> sources_of(const CatalogEntry& entry);
std::vector<Source> vad_sources();

// Throws the Error for a name that isn't in the catalog, with the names that are near it.
[[noreturn]] void throw_unknown_model(std::string_view name);

// Where models are kept: $SOTTO_HOME, else $XDG_CACHE_HOME/sotto, else ~/.cache/sotto. models/<name> below it.
std::string sotto_home();

struct FetchOptions {
  std::string model_dir;  // a folder of models instead of sotto_home()/models
  bool offline = false;
  bool quiet = false;  // no progress on stderr
  const std::atomic<bool>* stop = nullptr;  // once true, a fetch ends with Interrupted
};

// The folder that holds the models, for these options.
std::string models_folder(const FetchOptions& options);

// The path of a model for -m: a file or folder as it is, else a name from the catalog, which is fetched if it isn't
// there (unless offline). A name from the catalog wins over a file of that name in the working directory; "./base" is
// the file. Throws Error.
std::string locate_model(const std::string& name_or_path, const FetchOptions& options);

// The path of the weights of the network that finds speech (an ONNX file), fetched if it isn't there.
std::string locate_vad(const FetchOptions& options);

}  // namespace sotto
