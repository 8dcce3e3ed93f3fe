#include "models/catalog.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "models/error.h"
#include "temporary.h"

using namespace sotto;

namespace {

std::string error_of(const std::string& name, const FetchOptions& options) {
  try {
    locate_model(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the catalog knows the official and the distilled models by name and alias") {
  const char* names[] = {"tiny", "tiny.en", "base", "base.en", "small", "small.en", "medium", "medium.en", "large-v1",
                         "large-v2", "large-v3", "large-v3-turbo", "distil-small.en", "distil-medium.en",
                         "distil-large-v2", "distil-large-v3", "distil-large-v3.5"};
  for (const char* name : names) {
    CAPTURE(name);
    const CatalogEntry* entry = find_in_catalog(name);
    REQUIRE(entry);
    CHECK(entry->name == name);
    CHECK(entry->dims.width == entry->dims.heads * kHead);
    CHECK(entry->dims.multilingual() == (std::string(name).find(".en") == std::string::npos));
    for (const auto& [layer, head] : entry->alignment_heads) {
      CHECK(layer < entry->dims.decoder_layers);
      CHECK(head < entry->dims.heads);
    }
  }
  CHECK(catalog().size() == std::size(names));
  CHECK(find_in_catalog("large")->name == "large-v3");
  CHECK(find_in_catalog("turbo")->name == "large-v3-turbo");
  CHECK(find_in_catalog("huge") == nullptr);
}

TEST_CASE("every official model has alignment heads") {
  for (const auto& entry : catalog()) {
    if (!entry.name.starts_with("distil")) CHECK_MESSAGE(!entry.alignment_heads.empty(), entry.name);
  }
}

TEST_CASE("sizes follow from the dimensions") {
  // The published counts: 39, 74, 244, 769, 1550 and 809 million; 166, 394 and 756 for the distilled ones.
  const std::pair<const char*, double> published[] = {
      {"tiny", 39e6}, {"base", 74e6}, {"small", 244e6}, {"medium", 769e6}, {"large-v2", 1550e6}, {"turbo", 809e6},
      {"distil-small.en", 166e6}, {"distil-medium.en", 394e6}, {"distil-large-v3", 756e6}};
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    CHECK(static_cast<double>(parameters(find_in_catalog(name)->dims)) == doctest::Approx(count).epsilon(0.04));
  }
}

TEST_CASE("sources are checked ones") {
  std::set<std::string> hashes;
  for (const auto& entry : catalog()) {
    CAPTURE(entry.name);
    const auto sources = sources_of(entry);
    REQUIRE(!sources.empty());
    for (const auto& source : sources) {
      CHECK(source.files.empty() != source.packages.empty());
      for (const auto& file : source.files) {
        CHECK(file.url.starts_with("https://"));
        const bool weights = file.name.ends_with(".pt") || file.name.ends_with(".safetensors");
        CHECK(file.checksum.must_be_known == weights);
      }
      for (const auto& file : source.packed) CHECK(file.sha256.size() == 64);
    }
    if (!entry.openai_sha256.empty()) {
      CHECK(sources[0].files.size() == 1);
      CHECK(sources[0].opens == std::string(entry.name) + ".pt");
      CHECK(hashes.insert(sources[0].files[0].checksum.sha256).second);
    }
  }
  CHECK(!sources_of(*find_in_catalog("base")).back().packages.empty());
  CHECK(!sources_of(*find_in_catalog("tiny.en")).back().packages.empty());
}

TEST_CASE("a path is taken as it is, and a name is looked up") {
  const TemporaryFolder folder;
  FetchOptions offline;
  offline.model_dir = folder.path();
  offline.offline = true;
  const std::string file = folder.path() + "/mine.gguf";
  std::ofstream(file) << "x";
  CHECK(locate_model(file, offline) == file);
  CHECK(locate_model(folder.path(), offline) == folder.path());
  CHECK(has(error_of(folder.path() + "/none.bin", offline), "there is no model at"));

  SUBCASE("put there by hand as a folder") {
    std::filesystem::create_directories(folder.path() + "/large-v3");
    std::ofstream(folder.path() + "/large-v3/model.safetensors") << "x";
    CHECK(locate_model("large", offline) == folder.path() + "/large-v3");
  }
  SUBCASE("put there by hand as a file") {
    std::ofstream(folder.path() + "/tiny.pt") << "x";
    std::ofstream(folder.path() + "/ggml-base.en.bin") << "x";
    CHECK(locate_model("tiny", offline) == folder.path() + "/tiny.pt");
    CHECK(locate_model("base.en", offline) == folder.path() + "/ggml-base.en.bin");
  }
  SUBCASE("not there") {
    const std::string sentence = error_of("small", offline);
    CHECK(has(sentence, "small isn't in"));
    CHECK(has(sentence, "sotto models fetch small"));
  }
}

TEST_CASE("the network that finds speech is the file that this program knows, not another release's") {
  const TemporaryFolder folder;
  FetchOptions offline;
  offline.model_dir = folder.path();
  offline.offline = true;
  CHECK_THROWS_WITH_AS(locate_vad(offline), doctest::Contains("sotto models fetch vad"), Error);
  const std::string vad = folder.path() + "/vad/";
  std::filesystem::create_directories(vad);
  std::ofstream(vad + "old.safetensors") << "x";
  std::ofstream(vad + "silero_vad_16k_op15.onnx") << "x";
  std::ofstream(vad + "sotto.json") << R"({"source": "s", "opens": "old.safetensors",
                                           "files": [{"name": "old.safetensors", "bytes": 1, "sha256": ""}]})";
  CHECK(locate_vad(offline) == vad + "silero_vad_16k_op15.onnx");
}

TEST_CASE("a name that is wrong gets the names that are near it") {
  FetchOptions offline;
  offline.offline = true;
  CHECK(has(error_of("smal.en", offline), "did you mean small.en"));
  CHECK(has(error_of("Base", offline), "did you mean base"));
  CHECK(has(error_of("large-v4", offline), "large-v3"));
  CHECK(has(error_of("v3.5", offline), "distil-large-v3.5"));
  const std::string far = error_of("qqqqqqqqqqqqqqqqqqqqqq", offline);
  CHECK(!has(far, "did you mean"));
  CHECK(has(far, "sotto models list"));
  CHECK(has(error_of("", offline), "neither a file nor a model"));
}

TEST_CASE("models are kept where the environment says") {
  const ScopedVariable sotto("SOTTO_HOME", nullptr), cache("XDG_CACHE_HOME", nullptr), home("HOME", "/home/ada");
  CHECK(sotto_home() == "/home/ada/.cache/sotto");
  const ScopedVariable cache_set("XDG_CACHE_HOME", "/cache");
  CHECK(sotto_home() == "/cache/sotto");
  const ScopedVariable sotto_set("SOTTO_HOME", "/data/sotto");
  CHECK(sotto_home() == "/data/sotto");
  CHECK(models_folder({}) == "/data/sotto/models");
  FetchOptions options;
  options.model_dir = "/mnt/models";
  CHECK(models_folder(options) == "/mnt/models");
}
