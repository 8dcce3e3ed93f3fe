// Files cut at any byte, or with any byte of their structure changed, in all four formats: opening them gives a
// sentence or, where the change means nothing, the weights; never a crash, a hang or memory out of proportion. Every
// seventh byte is quick and, as the structure repeats itself from tensor to tensor, meets all kinds of fields; with
// SOTTO_TEST_EVERY_BYTE in the environment it is every byte.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "models/error.h"
#include "models/mapped_file.h"
#include "models/tiny_whisper.h"
#include "temporary.h"

namespace sotto {
namespace {
namespace fs = std::filesystem;
using namespace testing;

struct Sample {
  std::string path;
  std::string content;
  std::vector<size_t> structure;  // the positions of the bytes that are no tensor's values or scales
};

Sample sample(const std::string& path) {
  Sample out{path, read_text(path), {}};
  std::vector<bool> is_value(out.content.size());
  const auto weights = open_weights(path);
  for_each_tensor(*weights, [&](const std::string&, const Stored& tensor) {
    const std::byte* start = weights->files[0]->bytes().data();
    const auto begin = is_value.begin() + (tensor.data - start);
    std::fill(begin, begin + tensor.rows * row_bytes(tensor.encoding, tensor.cols), true);
    if (tensor.row_scale) std::fill_n(is_value.begin() + (tensor.row_scale - start), tensor.rows * 4, true);
  });
  const size_t step = std::getenv("SOTTO_TEST_EVERY_BYTE") ? 1 : 7;
  size_t n = 0;
  for (size_t i = 0; i < is_value.size(); ++i) {
    if (!is_value[i] && n++ % step == 0) out.structure.push_back(i);
  }
  return out;
}

std::vector<Sample> samples(const std::string& folder) {
  const TinyWhisper model;
  fs::create_directories(folder + "/hugging-face");
  fs::create_directories(folder + "/ctranslate2");
  write_openai(folder + "/tiny.pt", model, Encoding::f16);
  write_ggml(folder + "/ggml-tiny.bin", model, Encoding::q5_1);
  write_safetensors(folder + "/hugging-face", model, Encoding::f16);
  write_ctranslate2(folder + "/ctranslate2", model, Encoding::i8);
  return {sample(folder + "/tiny.pt"), sample(folder + "/ggml-tiny.bin"),
          sample(folder + "/hugging-face/model.safetensors"), sample(folder + "/ctranslate2/model.bin")};
}

enum class Outcome { opened, refused, something_else };

Outcome open_outcome(const std::string& path) {
  try {
    open_weights(path);
    return Outcome::opened;
  } catch (const Error&) {
    return Outcome::refused;
  } catch (...) {
    return Outcome::something_else;
  }
}

TEST_CASE("a model that is cut short is refused, wherever it is cut") {
  const TemporaryFolder folder;
  for (const Sample& each : samples(folder.path())) {
    CAPTURE(each.path);
    std::vector<size_t> cuts = each.structure;
    for (size_t at = 0; at < each.content.size(); at += 50021) cuts.push_back(at);
    std::sort(cuts.rbegin(), cuts.rend());
    size_t n_not_refused = 0;
    for (const size_t cut : cuts) {
      fs::resize_file(each.path, cut);
      n_not_refused += open_outcome(each.path) != Outcome::refused;
    }
    CHECK(n_not_refused == 0);
  }
}

TEST_CASE("a model with a byte of its structure changed is refused or opens") {
  const TemporaryFolder folder;
  for (const Sample& each : samples(folder.path())) {
    CAPTURE(each.path);
    const int file = open(each.path.c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(file >= 0);
    size_t n_refused = 0, n_wrong = 0;
    for (const size_t at : each.structure) {
      // Lengths and offsets a little and a lot too large, signs and types turned over: by turns, to keep this quick.
      constexpr uint8_t kChanges[] = {0x01, 0x80, 0xff, 0x10, 0x7f};
      const char before = each.content[at];
      const char changed = static_cast<char>(before ^ kChanges[at % std::size(kChanges)]);
      REQUIRE(pwrite(file, &changed, 1, static_cast<off_t>(at)) == 1);
      const Outcome outcome = open_outcome(each.path);
      n_refused += outcome == Outcome::refused;
      n_wrong += outcome == Outcome::something_else;
      REQUIRE(pwrite(file, &before, 1, static_cast<off_t>(at)) == 1);
    }
    close(file);
    CHECK(n_wrong == 0);
    CHECK(n_refused > each.structure.size() / 4);  // names and sizes are most of it
    CHECK(open_outcome(each.path) == Outcome::opened);
  }
}

}  // namespace
}  // namespace sotto
