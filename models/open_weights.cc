// From a path to a network: which file is meant, which format it has, and what the file itself doesn't say.
#include <filesystem>
#include <system_error>

#include "models/catalog.h"
#include "models/error.h"
#include "models/readers.h"

namespace sotto {
namespace fs = std::filesystem;
namespace {

bool has(std::span<const std::byte> bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

// The usual things that lie where a model should be.
[[noreturn]] void not_a_model(const std::string& path, std::span<const std::byte> bytes) {
  if (has(bytes, 0, "version https://git-lfs")) {
    bad_model(path, "it is a Git LFS pointer and not the weights; run `git lfs pull` in its folder");
  }
  if (has(bytes, 0, "<") || has(bytes, 0, "\n<")) {
    bad_model(path, "it is a web page and not the weights, as a failed download leaves it; fetch it again");
  }
  if (has(bytes, 0, "GGUF")) bad_model(path, "GGUF files don't hold Whisper; use a ggml .bin instead");
  if (has(bytes, 0, "\x80\x02") || has(bytes, 0, "\x80\x04")) {
    bad_model(path, "it was saved by PyTorch before 1.6; load it there and save it again");
  }
  bad_model(path, "it is none of the formats known: OpenAI .pt, safetensors, ggml .bin, CTranslate2 model.bin");
}

Weights read_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (path.ends_with(".index.json")) return read_safetensors_shards(path);
  if (has(bytes, 0, "PK\x03\x04")) return read_openai(file);
  if (has(bytes, 0, "lmgg")) return read_ggml(file);
  if (has(bytes, 8, "{")) return read_safetensors(file);
  // A version, then the model's kind as a string with its length.
  if (bytes.size() > 6 && bytes[1] == std::byte{0} && bytes[2] == std::byte{0} && bytes[3] == std::byte{0} &&
      bytes[5] == std::byte{0}) {
    return read_ctranslate2(file);
  }
  not_a_model(path, bytes);
}

bool is_weights_file(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".pt" || extension == ".bin" || extension == ".safetensors";
}

Weights read_folder(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "model.bin"}) {
    if (fs::exists(folder / name, error)) return read_file(folder / name);
  }
  if (fs::exists(folder / "pytorch_model.bin", error)) {
    bad_model(folder, "it has its weights only as pytorch_model.bin; save them as model.safetensors");
  }
  std::vector<fs::path> found;
  fs::directory_iterator entries(folder, error);
  if (error) bad_model(folder, "the folder can't be listed: " + error.message());
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (is_weights_file(entries->path())) found.push_back(entries->path());
    if (error) bad_model(folder, "the folder can't be listed: " + error.message());
  }
  if (found.size() == 1) return read_file(found[0]);
  if (found.empty()) bad_model(folder, "the folder holds no model.safetensors, model.bin, .pt or ggml .bin");
  bad_model(folder, "the folder holds several weights files; give the path of one of them");
}

// "models/base/" and "models/base/model.bin" are "base", "tiny.en.pt" is "tiny.en".
std::string name_of(const std::string& path, bool is_folder) {
  fs::path asked = fs::path(path).lexically_normal();
  if (!asked.has_filename()) asked = asked.parent_path();
  if (is_folder) return asked.filename();
  const bool named_by_folder = asked.filename().string().starts_with("model.") && asked.has_parent_path();
  if (named_by_folder) return asked.parent_path().filename();
  return is_weights_file(asked) ? asked.stem() : asked.filename();
}

// For a file that doesn't say which heads follow the audio: those of the model in the catalog that has the same sizes;
// of two, the one whose name the file's name holds, else the later. A size of its own gets what the reference takes
// then: all heads of the upper half of the decoder.
std::vector<std::pair<int, int>> known_alignment_heads(const std::string& name, const Dims& dims) {
  const CatalogEntry* best = nullptr;
  bool best_is_named = false;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.dims != dims || entry.alignment_heads.empty()) continue;
    const bool is_named = name.find(entry.name) != std::string::npos;
    if (is_named || !best_is_named) best = &entry;
    best_is_named = best_is_named || is_named;
  }
  if (best) return {best->alignment_heads.begin(), best->alignment_heads.end()};
  std::vector<std::pair<int, int>> heads;
  for (int layer = dims.decoder_layers / 2; layer < dims.decoder_layers; ++layer) {
    for (int head = 0; head < dims.heads; ++head) heads.emplace_back(layer, head);
  }
  return heads;
}

}  // namespace

std::shared_ptr<const Weights> open_weights(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  Weights weights = is_folder ? read_folder(path) : read_file(path);
  weights.name = name_of(path, is_folder);
  if (weights.alignment_heads.empty()) weights.alignment_heads = known_alignment_heads(weights.name, weights.dims);
  return std::make_shared<const Weights>(std::move(weights));
}

}  // namespace sotto
