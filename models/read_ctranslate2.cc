// CTranslate2 model.bin, version 6: named variables, then aliases. Projections that share an input are stacked in one
// matrix; they become views of its rows.
#include <filesystem>

#include "models/error.h"
#include "models/readers.h"

namespace sotto {
namespace {

constexpr uint32_t kVersion = 6;

// A string: its length with the closing zero, its bytes.
std::string_view string_at(const std::string& path, Cursor& at) {
  const auto size = at.value<uint16_t>();
  const std::string_view text = at.text(size);
  if (text.empty() || text.find('\0') != text.size() - 1) bad_model(path, "a name in it is damaged; fetch it again");
  return text.substr(0, text.size() - 1);
}

int64_t value_bytes(int type) {
  switch (type) {
    case 0: case 3: return 4;
    case 1: return 1;
    case 2: case 4: case 5: return 2;
    default: return 0;
  }
}

std::optional<Encoding> encoding_of(int type) {
  switch (type) {
    case 0: return Encoding::f32;
    case 1: return Encoding::i8;
    case 4: return Encoding::f16;
    case 5: return Encoding::bf16;
    default: return std::nullopt;
  }
}

void read_variable(const std::string& path, Cursor& at, FileTensors& variables) {
  const std::string name(string_at(path, at));
  FileTensor variable;
  variable.shape.resize(at.value<uint8_t>());
  int64_t n = 1;
  bool too_large = false;
  for (int64_t& dim : variable.shape) {
    dim = at.value<uint32_t>();
    too_large = too_large || __builtin_mul_overflow(n, dim, &n);
  }
  const int type = at.value<uint8_t>();
  const auto size = at.value<uint32_t>();
  too_large = too_large || __builtin_mul_overflow(n, value_bytes(type), &n);
  if (value_bytes(type) == 0) bad_model(path, "its tensor " + name + " has the unknown type " + std::to_string(type));
  if (too_large || n != size) bad_model(path, "its tensor " + name + " has a size that doesn't match its shape");
  variable.encoding = encoding_of(type);
  variable.data = at.take(size).data();
  if (!variables.emplace(name, std::move(variable)).second) bad_model(path, "it has the tensor " + name + " twice");
}

FileTensors read_variables(const std::string& path, Cursor& at) {
  FileTensors variables;
  const auto n_variables = at.value<uint32_t>();
  for (uint32_t i = 0; i < n_variables; ++i) read_variable(path, at, variables);
  const auto n_aliases = at.value<uint32_t>();
  for (uint32_t i = 0; i < n_aliases; ++i) {
    const std::string alias(string_at(path, at));
    const auto target = variables.find(std::string(string_at(path, at)));
    if (target == variables.end()) bad_model(path, "the alias " + alias + " in it leads nowhere");
    const FileTensor meant = target->second;
    variables.insert_or_assign(alias, meant);
  }
  return variables;
}

// What stands below encoder/layer_L/ and decoder/layer_L/ (with attention/ in the decoder only), and OpenAI's names for
// it: more than one for a stack. The key part of a stack's bias is left out: it is zero, and even if it weren't, it
// would add the same to all scores of a query, which softmax takes out again.
struct Renamed {
  std::string_view ours;
  std::vector<std::string_view> parts;
};
const std::vector<Renamed>& layer_names() {
  static const std::vector<Renamed> names = {
      {"self_attention/layer_norm/", {"attn_ln."}},
      {"self_attention/linear_0/", {"attn.query.", "attn.key.", "attn.value."}},
      {"self_attention/linear_1/", {"attn.out."}},
      {"attention/layer_norm/", {"cross_attn_ln."}},
      {"attention/linear_0/", {"cross_attn.query."}},
      {"attention/linear_1/", {"cross_attn.key.", "cross_attn.value."}},
      {"attention/linear_2/", {"cross_attn.out."}},
      {"ffn/layer_norm/", {"mlp_ln."}},
      {"ffn/linear_0/", {"mlp.0."}},
      {"ffn/linear_1/", {"mlp.2."}},
  };
  return names;
}

// OpenAI's names for a variable's parts; none if it is no weight.
std::vector<std::string> parts_of(const std::string& name) {
  static const std::unordered_map<std::string_view, std::string_view> kWhole = {
      {"encoder/conv1/weight", "encoder.conv1.weight"},
      {"encoder/conv1/bias", "encoder.conv1.bias"},
      {"encoder/conv2/weight", "encoder.conv2.weight"},
      {"encoder/conv2/bias", "encoder.conv2.bias"},
      {"encoder/position_encodings/encodings", "encoder.positional_embedding"},
      {"encoder/layer_norm/gamma", "encoder.ln_post.weight"},
      {"encoder/layer_norm/beta", "encoder.ln_post.bias"},
      {"decoder/embeddings/weight", "decoder.token_embedding.weight"},
      {"decoder/position_encodings/encodings", "decoder.positional_embedding"},
      {"decoder/layer_norm/gamma", "decoder.ln.weight"},
      {"decoder/layer_norm/beta", "decoder.ln.bias"},
  };
  static const std::unordered_map<std::string_view, std::string_view> kLeaf = {
      {"weight", "weight"}, {"bias", "bias"}, {"gamma", "weight"}, {"beta", "bias"}};
  if (const auto whole = kWhole.find(name); whole != kWhole.end()) return {std::string(whole->second)};

  constexpr std::string_view kLayer = "coder/layer_";  // after "en" or "de"
  const size_t number = 2 + kLayer.size();
  if (name.size() < number || name.compare(2, kLayer.size(), kLayer) != 0) return {};
  const size_t slash = name.find('/', number);
  if (slash == std::string::npos) return {};
  const std::string_view rest = std::string_view(name).substr(slash + 1);
  for (const Renamed& renamed : layer_names()) {
    if (!rest.starts_with(renamed.ours)) continue;
    const auto leaf = kLeaf.find(rest.substr(renamed.ours.size()));
    if (leaf == kLeaf.end()) return {};
    std::vector<std::string> parts;
    for (const std::string_view part : renamed.parts) {
      parts.push_back(name.substr(0, 7) + ".blocks." + name.substr(number, slash - number) + "." + std::string(part) +
                      std::string(leaf->second));
    }
    return parts;
  }
  return {};
}

// Gives an int8 matrix its scales, one for each row, in f32. A file may also have one for all rows, or store them
// narrower: then they are written out, into memory that lives with the model's files.
void attach_scales(const std::string& path, const std::string& name, const FileTensors& variables, FileTensor& tensor,
                   std::vector<std::shared_ptr<const MappedFile>>& files) {
  const auto found = variables.find(name + "_scale");
  if (found == variables.end()) bad_model(path, "its int8 tensor " + name + " has no scales");
  const FileTensor& scale = found->second;
  if (tensor_bytes(Encoding::i8, tensor.shape).value_or(0) == 0) bad_model(path, "its tensor " + name + " is empty");
  const int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
  int64_t n = 1;
  for (const int64_t dim : scale.shape) n *= dim;  // known to fit: the data lies in the file
  if (!scale.encoding || scale.encoding == Encoding::i8 || (n != rows && n != 1)) {
    bad_model(path, "the scales of its int8 tensor " + name + " are neither one for each row nor one for all");
  }
  if (scale.encoding == Encoding::f32 && n == rows) {
    tensor.row_scale = scale.data;
    return;
  }
  std::vector<float> written = read_all({scale.data, *scale.encoding, 1, n});
  written.resize(static_cast<size_t>(rows), written[0]);
  const auto bytes = std::as_bytes(std::span(written));
  files.push_back(MappedFile::of_bytes({bytes.begin(), bytes.end()}));
  tensor.row_scale = files.back()->bytes().data();
}

FileTensor part_of(const std::string& path, const std::string& name, const FileTensor& stack, size_t part, size_t n) {
  if (n == 1) return stack;
  const int64_t parts = static_cast<int64_t>(n);
  if (stack.shape.empty() || stack.shape[0] % parts != 0) bad_model(path, "its tensor " + name + " can't be split");
  FileTensor out = stack;
  out.shape[0] /= parts;
  if (!stack.encoding) return out;
  const int64_t first_row = out.shape[0] * static_cast<int64_t>(part);
  out.data += tensor_bytes(*stack.encoding, out.shape).value() * static_cast<int64_t>(part);
  if (stack.row_scale) out.row_scale += first_row * static_cast<int64_t>(sizeof(float));
  return out;
}

}  // namespace

Weights read_ctranslate2(std::shared_ptr<const MappedFile> file) {
  const std::string path = file->path();
  Cursor at(path, file->bytes());
  const auto version = at.value<uint32_t>();
  if (version != kVersion) {
    bad_model(path, "it is no model known, or CTranslate2's in version " + std::to_string(version) +
                        " instead of 6; convert it anew");
  }
  const std::string_view kind = string_at(path, at);
  if (kind != "WhisperSpec") bad_model(path, "it is CTranslate2's " + std::string(kind) + " and not a Whisper");
  at.value<uint32_t>();  // the spec's revision: what it changes shows in the tensors
  const FileTensors variables = read_variables(path, at);
  if (at.left() > 0) bad_model(path, "more bytes follow after its end; fetch it again");

  ModelFiles model{path, {file}, {}};
  for (const auto& [name, variable] : variables) {
    const std::vector<std::string> parts = parts_of(name);
    if (parts.empty()) continue;
    FileTensor tensor = variable;
    if (tensor.encoding == Encoding::i8) attach_scales(path, name, variables, tensor, model.files);
    for (size_t i = 0; i < parts.size(); ++i) {
      model.tensors.insert_or_assign(parts[i], part_of(path, name, tensor, i, parts.size()));
    }
  }
  Weights weights = assemble(std::move(model));
  const std::string config = std::filesystem::path(path).replace_filename("config.json");
  weights.alignment_heads = alignment_heads_in(config, weights.dims);
  return weights;
}

}  // namespace sotto
