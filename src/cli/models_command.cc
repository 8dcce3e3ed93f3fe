#include "src/cli/models_command.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/catalog.h"
#include "models/disk.h"
#include "models/error.h"
#include "models/mapped_file.h"
#include "models/packed_files.h"
#include "models/progress.h"
#include "models/weights.h"

namespace sotto {
namespace {

using nlohmann::json;

struct ModelsArguments {
  FetchOptions fetch;
  std::vector<std::string> names;
  bool as_json = false;
  bool packed = false;  // only what is packed
};

// A name that can be fetched: a Whisper or the network that finds speech.
struct Named {
  std::string name;
  const CatalogEntry* whisper;  // null: the network that finds speech
  std::vector<Source> sources;
};

std::optional<Named> find_named(const std::string& name) {
  if (name == kVadName) return Named{name, nullptr, vad_sources()};
  const CatalogEntry* entry = find_in_catalog(name);
  if (!entry) return std::nullopt;
  return Named{std::string(entry->name), entry, sources_of(*entry)};
}

Named named(const std::string& name) {
  const auto found = find_named(name);
  if (!found) throw_unknown_model(name);
  return *found;
}

std::string millions(int64_t count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f M", count < 100'000'000 ? 1 : 0, static_cast<double>(count) / 1e6);
  return text;
}

std::string languages_text(const Dims& dims) {
  return dims.multilingual() ? std::to_string(special_tokens(dims.vocabulary).n_languages) : "English";
}

// What fetching takes. Null: the network that finds speech.
std::string download_text(const CatalogEntry* whisper) {
  return whisper ? "~" + human_bytes(2 * parameters(whisper->dims)) : "~10 MB";  // all are published as f16
}

void list_as_json(const FetchOptions& options) {
  json all = json::array();
  const auto add = [&](const std::string& name, json row) {
    const auto installed = find_installed(models_folder(options), name);
    row["name"] = name;
    row["installed"] = installed.has_value();
    if (installed) row.update({{"path", installed->path}, {"bytes", installed->bytes}, {"source", installed->source}});
    all.push_back(row);
  };
  for (const auto& entry : catalog()) {
    const auto& d = entry.dims;
    add(std::string(entry.name),
        {{"aliases", aliases_of(entry)},
         {"parameters", parameters(d)},
         {"languages", d.multilingual() ? special_tokens(d.vocabulary).n_languages : 1}});
  }
  add(std::string(kVadName), json::object());
  std::printf("%s\n", all.dump(2).c_str());
}

void list(const ModelsArguments& arguments) {
  if (arguments.as_json) return list_as_json(arguments.fetch);
  const std::string folder = models_folder(arguments.fetch);
  const char* format = "%-18s %-7s %11s  %-10s %10s  %s\n";
  std::printf(format, "NAME", "ALIAS", "PARAMETERS", "LANGUAGES", "DOWNLOAD", "ON DISK");
  int64_t total = 0;
  const auto row = [&](const std::string& name, const std::string& alias, const std::string& size,
                       const std::string& languages, const std::string& to_fetch) {
    const auto installed = find_installed(folder, name);
    if (installed) total += installed->bytes;
    std::printf(format, name.c_str(), alias.c_str(), size.c_str(), languages.c_str(), to_fetch.c_str(),
                installed ? human_bytes(installed->bytes).c_str() : "-");
  };
  for (const auto& entry : catalog()) {
    const auto aliases = aliases_of(entry);
    row(std::string(entry.name), aliases.empty() ? "" : std::string(aliases[0]), millions(parameters(entry.dims)),
        languages_text(entry.dims), download_text(&entry));
  }
  row(std::string(kVadName), "", "", "(speech)", download_text(nullptr));
  std::printf("\n%s in %s\n", human_bytes(total).c_str(), folder.c_str());
  int64_t packed = 0;
  for (const auto& path : packed_files()) packed += size_on_disk(path);
  if (packed > 0) {
    std::printf("%s of packed weights in %s (\"sotto models remove --packed\" frees them)\n",
                human_bytes(packed).c_str(), packed_folder().c_str());
  }
}

// Fetches a model, or checks the one that is there and fetches it again if it is damaged.
void fetch_one(const Named& model, const FetchOptions& options) {
  const std::string folder = models_folder(options);
  if (const auto installed = find_installed(folder, model.name)) {
    const auto damaged = damaged_files(*installed);
    if (!damaged.empty()) {
      if (options.offline) throw Error(model.name + " is damaged and --offline forbids fetching it again");
      std::fprintf(stderr, "%s is damaged (%s) and is fetched again\n", model.name.c_str(), damaged[0].c_str());
      remove_model(folder, model.name);
    } else {
      std::printf("%s is here already%s: %s\n", model.name.c_str(), installed->files.empty() ? "" : ", checked",
                  installed->path.c_str());
      return;
    }
  }
  const std::string path = model.whisper ? locate_model(model.name, options) : locate_vad(options);
  std::printf("%s: %s\n", model.name.c_str(), path.c_str());
}

std::atomic<bool> interrupted = false;  // set by a signal handler

// A second Ctrl-C ends the program at once. Who started it deaf to Ctrl-C, as nohup does, wants it to stay so.
void catch_interrupts() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

// Ends as Ctrl-C ends a program, with a word.
[[noreturn]] void end_interrupted() {
  std::fflush(stdout);
  std::fputs("\ninterrupted\n", stderr);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  std::_Exit(130);
}

void fetch(const ModelsArguments& arguments) {
  std::vector<Named> models;  // a misspelt name shows before anything is fetched
  for (const auto& name : arguments.names) models.push_back(named(name));
  catch_interrupts();
  FetchOptions options = arguments.fetch;
  options.stop = &interrupted;
  std::string failures;
  for (const auto& model : models) {
    try {
      fetch_one(model, options);
      std::fflush(stdout);
      if (interrupted) end_interrupted();
    } catch (const Interrupted&) {
      end_interrupted();
    } catch (const Error& error) {
      failures += (failures.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!failures.empty()) throw Error(failures);
}

void print_fact(const char* name, const std::string& value) {
  if (!value.empty()) std::printf("%-12s %s\n", name, value.c_str());
}

void print_dims(const Dims& d) {
  print_fact("parameters", millions(parameters(d)));
  print_fact("languages", languages_text(d));
  print_fact("width", std::to_string(d.width) + " (" + std::to_string(d.heads) + " heads)");
  print_fact("layers", std::to_string(d.encoder_layers) + " encoder, " + std::to_string(d.decoder_layers) + " decoder");
  print_fact("mel bins", std::to_string(d.mel_bins));
  print_fact("vocabulary", std::to_string(d.vocabulary));
}

const char* encoding_name(Encoding encoding) {
  switch (encoding) {
    case Encoding::f32: return "f32";
    case Encoding::f16: return "f16";
    case Encoding::bf16: return "bf16";
    case Encoding::i8: return "int8";
    case Encoding::q4_0: return "q4_0";
    case Encoding::q4_1: return "q4_1";
    case Encoding::q5_0: return "q5_0";
    case Encoding::q5_1: return "q5_1";
    case Encoding::q8_0: return "q8_0";
  }
  return "";
}

void print_weights(const Weights& weights) {
  print_dims(weights.dims);
  std::string heads;
  for (const auto& [layer, head] : weights.alignment_heads) {
    heads += (heads.empty() ? "" : " ") + std::to_string(layer) + ":" + std::to_string(head);
  }
  print_fact("alignment", heads + (heads.empty() ? "" : " (decoder layer:head)"));
  for (const auto& file : weights.files) print_fact("file", file->path());
  print_fact("values", encoding_name(weights.token_embedding.encoding));
  print_fact("digest", weights.digest);
  for (const auto& path : packed_files(weights.digest)) {
    print_fact("packed", human_bytes(size_on_disk(path)) + "  " + path);
  }
}

void info(const ModelsArguments& arguments) {
  const std::string& asked = arguments.names.at(0);
  const auto model = find_named(asked);
  if (!model) {  // a path
    FetchOptions offline = arguments.fetch;
    offline.offline = true;
    const std::string path = locate_model(asked, offline);
    const auto weights = open_weights(path);
    print_fact("path", path);
    return print_weights(*weights);
  }
  const std::string folder = models_folder(arguments.fetch);
  print_fact("name", model->name);
  const auto installed = find_installed(folder, model->name);
  if (!installed) {
    print_fact("path", "not in " + folder);
    std::string labels;
    for (const auto& source : model->sources) labels += (labels.empty() ? "" : ", ") + source.label;
    print_fact("sources", labels);
    print_fact("download", download_text(model->whisper));
    if (model->whisper) print_dims(model->whisper->dims);
    return;
  }
  print_fact("path", installed->path);
  print_fact("on disk", human_bytes(installed->bytes));
  print_fact("source", installed->source.empty() ? "put there by hand" : installed->source);
  for (const auto& file : installed->files) print_fact("sha256", file.sha256 + "  " + file.name);
  if (model->whisper) print_weights(*open_weights(installed->path));
}

// The packed files of a model that is there; none if it can't be opened.
std::vector<std::string> packed_files_of(const Named& model, const std::string& folder) {
  const auto installed = find_installed(folder, model.name);
  if (!model.whisper || !installed) return {};
  try {
    return packed_files(open_weights(installed->path)->digest);
  } catch (const Error&) {
    return {};
  }
}

void remove(const ModelsArguments& arguments) {
  if (arguments.names.empty() && !arguments.packed) throw CLI::RequiredError("NAME or --packed");
  const std::string folder = models_folder(arguments.fetch);
  std::vector<Named> models;
  for (const auto& name : arguments.names) models.push_back(named(name));
  if (models.empty()) {
    const int64_t freed = remove_files(packed_files());
    std::printf("removed packed weights: %s freed\n", human_bytes(freed).c_str());
  }
  for (const auto& model : models) {
    const auto packed = packed_files_of(model, folder);  // only the weights say which they are
    const int64_t freed = arguments.packed ? 0 : remove_model(folder, model.name);
    if (freed == 0 && packed.empty()) {
      throw Error(model.name + (arguments.packed ? " has no packed weights" : " isn't in " + folder) +
                  ", so there is nothing to remove");
    }
    std::printf("removed %s%s: %s freed\n", arguments.packed ? "packed weights of " : "", model.name.c_str(),
                human_bytes(freed + remove_files(packed)).c_str());
  }
}

// What people write for the commands that there are.
constexpr std::pair<std::string_view, const char*> kOtherWords[] = {
    {"delete", "remove"}, {"rm", "remove"},      {"uninstall", "remove"}, {"download", "fetch"}, {"get", "fetch"},
    {"pull", "fetch"},    {"install", "fetch"},  {"show", "info"},        {"describe", "info"},  {"ls", "list"}};

// Says what can follow "models" when nothing that can does.
void check_command(const CLI::App& models) {
  const std::vector<std::string> unknown = models.remaining();
  if (unknown.empty() && models.get_subcommands().empty()) {
    std::fputs(models.help().c_str(), stderr);
    throw CLI::RequiredError("list, fetch, info or remove");
  }
  if (unknown.empty()) return;
  std::string sentence = "models has no command \"" + unknown[0] + '"';
  for (const auto& [word, meant] : kOtherWords) {
    if (word == unknown[0]) sentence += "; did you mean " + std::string(meant) + "?";
  }
  throw CLI::ValidationError(sentence);
}

}  // namespace

void add_models_command(CLI::App& app) {
  CLI::App* models = app.add_subcommand("models", "List, fetch, describe and remove models");
  models->require_subcommand(0, 1);
  models->parse_complete_callback([models] { check_command(*models); });
  const auto arguments = std::make_shared<ModelsArguments>();
  const auto add = [&](const char* name, const char* what, void (*run)(const ModelsArguments&)) {
    CLI::App* command = models->add_subcommand(name, what);
    command->add_option("--model-dir,--model_dir", arguments->fetch.model_dir,
                        "Folder of models (default: models in $SOTTO_HOME, $XDG_CACHE_HOME/sotto or ~/.cache/sotto)");
    command->callback([arguments, run] { run(*arguments); });
    return command;
  };
  add("list", "Show the models that have names, and which are on this machine", list)
      ->add_flag("--json", arguments->as_json, "As JSON");
  CLI::App* fetching = add("fetch", "Bring models to this machine, and check those that are there", fetch);
  fetching->add_option("NAME", arguments->names, "Names from the list")->required();
  fetching->add_flag("--offline", arguments->fetch.offline, "Only check what is there");
  fetching->add_flag("-q,--quiet", arguments->fetch.quiet, "No progress");
  add("info", "Describe a model, or the file at a path", info)
      ->add_option("NAME|PATH", arguments->names, "A name from the list, or a path")->required()->expected(1);
  CLI::App* removing = add("remove", "Remove models, and the weights packed from them, from this machine", remove);
  removing->add_option("NAME", arguments->names, "Names from the list");
  removing->add_flag("--packed", arguments->packed, "Only packed weights, of all models if none is named");
  models->allow_extras();  // for check_command; set last, because commands inherit it
}

}  // namespace sotto
