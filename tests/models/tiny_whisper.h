// The smallest network that the readers take for a Whisper - width 64, one layer each, random values - and writers for
// it in every format and encoding, so that what is read can be compared with what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/weights.h"

namespace sotto::testing {

struct TinyTensor {
  std::string name;  // OpenAI's
  std::vector<int64_t> shape;
  std::vector<float> values;
  int64_t cols() const { return shape.size() == 3 ? shape[1] * shape[2] : shape.back(); }
};

struct TinyWhisper {
  static constexpr int kWidth = 64, kVocabulary = 51864, kMelBins = 80;
  std::vector<TinyTensor> tensors;

  TinyWhisper(int encoder_layers = 1, int decoder_layers = 1);
  TinyTensor& find(std::string_view name);
  int encoder_layers, decoder_layers;
};

// Values as a file holds them, and what a reader has to make of them, computed without the readers' code.
struct Written {
  std::string bytes;
  std::vector<float> values;
  std::vector<float> row_scales;  // i8 only
};
Written encode(const std::vector<float>& values, int64_t cols, Encoding encoding);

// By tensor's name, what has to be read.
using Expected = std::map<std::string, std::vector<float>>;

Expected write_openai(const std::string& path, const TinyWhisper& model, Encoding encoding);
Expected write_ggml(const std::string& path, const TinyWhisper& model, Encoding encoding);

// Writes folder/model.safetensors, or as many shards and their index, and config.json.
Expected write_safetensors(const std::string& folder, const TinyWhisper& model, Encoding encoding, int n_shards = 1);

// Writes folder/model.bin and config.json. one_scale: an int8 embedding has one scale instead of one for each row.
Expected write_ctranslate2(const std::string& folder, const TinyWhisper& model, Encoding encoding,
                           bool one_scale = false);

void write_text(const std::string& path, std::string_view text);
std::string read_text(const std::string& path);

void for_each_tensor(const Weights& weights, const std::function<void(const std::string&, const Stored&)>& visit);

}  // namespace sotto::testing
