// From named tensors to a network: sizes are taken from the shapes and everything is checked against them.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/error.h"
#include "models/readers.h"
#include "models/sha256.h"

namespace sotto {
namespace {

constexpr int kMaxLayers = 64;    // the largest Whisper has 32
constexpr int kMaxWidth = 4096;   // the largest has 1280
constexpr size_t kSample = 4096;  // bytes of each tensor that go into the digest

std::string written(std::span<const int64_t> shape) {
  std::string out = "[";
  for (const int64_t n : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
  return out + "]";
}

// Same digest, same weights, without reading gigabytes: sizes of the files, and of each tensor its name, encoding,
// shape and the 4 KiB in its middle (norms and biases whole, but for the widest). Training, conversion, quantisation
// and a mixed-up file change those; a change of single values elsewhere does not show.
class Digest {
 public:
  void add(int64_t number) { sha256_.update(&number, sizeof(number)); }
  void add(const std::string& name, const Stored& tensor) {
    sha256_.update(name.c_str(), name.size() + 1);
    add(static_cast<int64_t>(tensor.encoding));
    add(tensor.rows);
    add(tensor.cols);
    add_middle(tensor.data, static_cast<size_t>(tensor.rows * row_bytes(tensor.encoding, tensor.cols)));
    if (tensor.row_scale) add_middle(tensor.row_scale, static_cast<size_t>(tensor.rows) * sizeof(float));
  }
  std::string hex() const { return sha256_.hex(); }

 private:
  void add_middle(const std::byte* data, size_t size) {
    const size_t n = std::min(size, kSample);
    sha256_.update(data + (size - n) / 2, n);
  }
  Sha256 sha256_;
};

class Assembler {
 public:
  explicit Assembler(ModelFiles model) : model_(std::move(model)) {}

  Weights build() {
    find_dims();
    const Dims& dims = out_.dims;
    const int64_t width = dims.width;
    out_.conv1 = {convolution("encoder.conv1.weight", dims.mel_bins), vector("encoder.conv1.bias", width)};
    out_.conv2 = {convolution("encoder.conv2.weight", width), vector("encoder.conv2.bias", width)};
    out_.encoder_positions = matrix("encoder.positional_embedding", kAudioContext, width);
    for (int layer = 0; layer < dims.encoder_layers; ++layer) {
      const std::string at = "encoder.blocks." + std::to_string(layer) + ".";
      EncoderBlock block;
      block.attn_ln = norm(at + "attn_ln.");
      block.attn = attention(at + "attn.");
      block.mlp_ln = norm(at + "mlp_ln.");
      block.fc1 = linear(at + "mlp.0.", 4 * width, width);
      block.fc2 = linear(at + "mlp.2.", width, 4 * width);
      out_.encoder.push_back(block);
    }
    out_.encoder_ln = norm("encoder.ln_post.");
    out_.token_embedding = matrix("decoder.token_embedding.weight", dims.vocabulary, width);
    out_.decoder_positions = matrix("decoder.positional_embedding", kTextContext, width);
    for (int layer = 0; layer < dims.decoder_layers; ++layer) {
      const std::string at = "decoder.blocks." + std::to_string(layer) + ".";
      DecoderBlock block;
      block.attn_ln = norm(at + "attn_ln.");
      block.attn = attention(at + "attn.");
      block.cross_attn_ln = norm(at + "cross_attn_ln.");
      block.cross_attn = attention(at + "cross_attn.");
      block.mlp_ln = norm(at + "mlp_ln.");
      block.fc1 = linear(at + "mlp.0.", 4 * width, width);
      block.fc2 = linear(at + "mlp.2.", width, 4 * width);
      out_.decoder.push_back(block);
    }
    out_.decoder_ln = norm("decoder.ln.");
    for (const auto& file : model_.files) digest_.add(static_cast<int64_t>(file->bytes().size()));
    out_.digest = digest_.hex();
    out_.files = std::move(model_.files);
    return std::move(out_);
  }

 private:
  const FileTensor& find(const std::string& name) const {
    const auto found = model_.tensors.find(name);
    if (found == model_.tensors.end()) {
      bad_model(model_.path, "it has no tensor " + name + " and so is no whole Whisper");
    }
    return found->second;
  }

  // The highest numbered block and one: a gap below it is then a missing tensor.
  int count_blocks(std::string_view prefix) const {
    int64_t count = 0;
    for (const auto& [name, tensor] : model_.tensors) {
      if (!name.starts_with(prefix)) continue;
      int64_t number = 0;
      const auto read = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
      if (read.ec == std::errc() && number >= count) count = number == INT64_MAX ? number : number + 1;
    }
    if (count < 1 || count > kMaxLayers) {
      bad_model(model_.path, "it has " + std::to_string(count) + " " + std::string(prefix.substr(0, 7)) +
                                 " layers and no Whisper has");
    }
    return static_cast<int>(count);
  }

  void find_dims() {
    const auto& embedding = find("decoder.token_embedding.weight").shape;
    const auto& conv1 = find("encoder.conv1.weight").shape;
    if (embedding.size() != 2) wrong_shape("decoder.token_embedding.weight", embedding, "[vocabulary, width]");
    if (conv1.size() != 3) wrong_shape("encoder.conv1.weight", conv1, "[width, bins, 3]");
    const int64_t vocabulary = embedding[0], width = embedding[1], bins = conv1[1];
    const auto refuse = [&](const std::string& what) {
      bad_model(model_.path, "it has " + what + " and no Whisper has");
    };
    if (width < kHead || width > kMaxWidth || width % kHead != 0) refuse("a width of " + std::to_string(width));
    if (vocabulary < 51864 || vocabulary > 51866) refuse("a vocabulary of " + std::to_string(vocabulary));
    if (bins != 80 && bins != 128) refuse(std::to_string(bins) + " mel bins");
    out_.dims.width = static_cast<int>(width);
    out_.dims.heads = static_cast<int>(width / kHead);
    out_.dims.encoder_layers = count_blocks("encoder.blocks.");
    out_.dims.decoder_layers = count_blocks("decoder.blocks.");
    out_.dims.mel_bins = static_cast<int>(bins);
    out_.dims.vocabulary = static_cast<int>(vocabulary);
  }

  [[noreturn]] void wrong_shape(const std::string& name, std::span<const int64_t> shape,
                                const std::string& right) const {
    bad_model(model_.path, "its tensor " + name + " has the shape " + written(shape) + " instead of " + right);
  }

  Stored store(const std::string& name, const FileTensor& tensor, int64_t rows, int64_t cols) {
    if (!tensor.encoding) bad_model(model_.path, "its tensor " + name + " is stored in a type that isn't supported");
    const Stored stored{tensor.data, *tensor.encoding, rows, cols, tensor.row_scale};
    CHECK_INVARIANT((stored.encoding == Encoding::i8) == (stored.row_scale != nullptr));
    digest_.add(name, stored);
    return stored;
  }

  Stored matrix(const std::string& name, int64_t rows, int64_t cols) {
    const FileTensor& tensor = find(name);
    const std::vector<int64_t> right{rows, cols};
    if (tensor.shape != right) wrong_shape(name, tensor.shape, written(right));
    return store(name, tensor, rows, cols);
  }

  Stored convolution(const std::string& name, int64_t in) {
    const FileTensor& tensor = find(name);
    const std::vector<int64_t> right{out_.dims.width, in, 3};
    if (tensor.shape != right) wrong_shape(name, tensor.shape, written(right));
    return store(name, tensor, out_.dims.width, in * 3);
  }

  // ggml keeps some vectors as matrices of one column.
  Stored vector(const std::string& name, int64_t n) {
    const FileTensor& tensor = find(name);
    std::vector<int64_t> shape = tensor.shape;
    std::erase(shape, 1);
    if (shape != std::vector<int64_t>{n}) wrong_shape(name, tensor.shape, written(std::vector<int64_t>{n}));
    if (tensor.encoding == Encoding::i8) bad_model(model_.path, "its tensor " + name + " is int8 and has no rows");
    return store(name, tensor, 1, n);
  }

  Norm norm(const std::string& at) {
    return {vector(at + "weight", out_.dims.width), vector(at + "bias", out_.dims.width)};
  }
  Linear linear(const std::string& at, int64_t out, int64_t in) {
    return {matrix(at + "weight", out, in), vector(at + "bias", out)};
  }
  Attention attention(const std::string& at) {
    const int64_t width = out_.dims.width;
    return {linear(at + "query.", width, width), {matrix(at + "key.weight", width, width), {}},
            linear(at + "value.", width, width), linear(at + "out.", width, width)};
  }

  ModelFiles model_;
  Weights out_;
  Digest digest_;
};

}  // namespace

void bad_model(const std::string& path, const std::string& what) {
  constexpr size_t kLongest = 400;
  std::string clause = what.substr(0, kLongest);  // it may hold names from the file, of any length and content
  for (char& c : clause) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  throw Error("the model " + path + " can't be used: " + clause);
}

void Cursor::ends_too_early() const {
  bad_model(path_, "it ends too early, as a broken-off download does; fetch it again");
}

std::optional<int64_t> tensor_bytes(Encoding encoding, std::span<const int64_t> shape) {
  int64_t rows = 1;
  for (const int64_t n : shape) {
    if (n < 0) return std::nullopt;
  }
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    if (__builtin_mul_overflow(rows, shape[i], &rows)) return std::nullopt;
  }
  const int64_t cols = shape.empty() ? 1 : shape.back();
  const bool in_blocks = encoding >= Encoding::q4_0;
  int64_t row = 0, bytes = 0;
  if (in_blocks && cols % 32 != 0) return std::nullopt;
  if (__builtin_mul_overflow(cols, int64_t{4}, &row)) return std::nullopt;  // f32 is the widest encoding
  if (__builtin_mul_overflow(rows, row_bytes(encoding, cols), &bytes)) return std::nullopt;
  return bytes;
}

Weights assemble(ModelFiles model) { return Assembler(std::move(model)).build(); }

void check_declared(const std::string& path, std::string_view what, int64_t declared, int64_t actual) {
  if (declared == actual) return;
  bad_model(path, "its header says " + std::string(what) + " = " + std::to_string(declared) +
                      ", but its tensors make it " + std::to_string(actual));
}

std::vector<std::pair<int, int>> alignment_heads_in(const std::string& json_path, const Dims& dims) {
  std::error_code error;
  if (!std::filesystem::exists(json_path, error)) return {};
  const auto file = MappedFile::open(json_path);
  const char* text = reinterpret_cast<const char*>(file->bytes().data());
  const auto json = nlohmann::json::parse(text, text + file->bytes().size(), nullptr, false);
  if (!json.is_object()) bad_model(json_path, "it isn't valid JSON; fetch it again");
  const auto listed = json.find("alignment_heads");
  if (listed == json.end() || !listed->is_array()) return {};
  std::vector<std::pair<int, int>> heads;
  for (const auto& pair : *listed) {
    if (!pair.is_array() || pair.size() != 2) return {};
    if (!pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) return {};
    const uint64_t layer = pair[0], head = pair[1];
    if (layer >= static_cast<uint64_t>(dims.decoder_layers) || head >= static_cast<uint64_t>(dims.heads)) return {};
    heads.emplace_back(static_cast<int>(layer), static_cast<int>(head));
  }
  return heads;
}

}  // namespace sotto
