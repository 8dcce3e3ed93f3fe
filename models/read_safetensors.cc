// safetensors as Hugging Face publishes Whisper: the length of a JSON header, the header, the data; in one file or in
// shards that an index names.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "models/error.h"
#include "models/readers.h"

namespace sotto {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit

json parse_object(const std::string& path, std::span<const std::byte> bytes) {
  const char* text = reinterpret_cast<const char*>(bytes.data());
  json parsed = json::parse(text, text + bytes.size(), nullptr, false);
  if (!parsed.is_object()) bad_model(path, "its JSON can't be parsed; fetch it again");
  return parsed;
}

std::optional<Encoding> encoding_of(const std::string& dtype) {
  if (dtype == "F32") return Encoding::f32;
  if (dtype == "F16") return Encoding::f16;
  if (dtype == "BF16") return Encoding::bf16;
  return std::nullopt;
}

bool replace_start(std::string& text, std::string_view from, std::string_view to) {
  if (!text.starts_with(from)) return false;
  text.replace(0, from.size(), to);
  return true;
}

// OpenAI's name for a tensor; other names stay as they are.
std::string renamed(std::string name) {
  static constexpr std::pair<std::string_view, std::string_view> kWhole[] = {
      {"encoder.embed_positions.weight", "encoder.positional_embedding"},
      {"encoder.layer_norm.", "encoder.ln_post."},
      {"decoder.embed_tokens.", "decoder.token_embedding."},
      {"decoder.embed_positions.weight", "decoder.positional_embedding"},
      {"decoder.layer_norm.", "decoder.ln."},
  };
  static constexpr std::pair<std::string_view, std::string_view> kInLayer[] = {
      {"self_attn.", "attn."},
      {"self_attn_layer_norm.", "attn_ln."},
      {"encoder_attn.", "cross_attn."},
      {"encoder_attn_layer_norm.", "cross_attn_ln."},
      {"fc1.", "mlp.0."},
      {"fc2.", "mlp.2."},
      {"final_layer_norm.", "mlp_ln."},
  };
  static constexpr std::pair<std::string_view, std::string_view> kProjection[] = {
      {"q_proj.", "query."}, {"k_proj.", "key."}, {"v_proj.", "value."}, {"out_proj.", "out."}};

  replace_start(name, "model.", "");
  for (const auto& [from, to] : kWhole) {
    if (replace_start(name, from, to)) return name;
  }
  constexpr std::string_view kLayers = "coder.layers.";  // after "en" or "de"
  if (name.size() < 2 || name.compare(2, kLayers.size(), kLayers) != 0) return name;
  const size_t dot = name.find('.', 2 + kLayers.size());
  if (dot == std::string::npos) return name;
  const std::string number = name.substr(2 + kLayers.size(), dot - 2 - kLayers.size());
  std::string rest = name.substr(dot + 1);
  for (const auto& [from, to] : kInLayer) {
    if (!replace_start(rest, from, to)) continue;
    std::string projection = rest.substr(to.size());
    for (const auto& [theirs, ours] : kProjection) {
      if (replace_start(projection, theirs, ours)) break;
    }
    return name.substr(0, 7) + ".blocks." + number + "." + std::string(to) + projection;
  }
  return name;
}

void add_tensor(const std::string& path, const std::string& name, const json& entry, std::span<const std::byte> data,
                FileTensors& tensors) {
  const auto damaged = [&]() { bad_model(path, "the entry of its tensor " + name + " is damaged; fetch it again"); };
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.is_object() || !entry.contains(key)) damaged();
  }
  const json& dtype = entry["dtype"];
  const json& shape = entry["shape"];
  const json& offsets = entry["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2) damaged();
  if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) damaged();
  const uint64_t begin = offsets[0], end = offsets[1];
  if (begin > end || end > data.size()) bad_model(path, "its tensor " + name + " lies beyond its end; fetch it again");

  FileTensor tensor;
  tensor.encoding = encoding_of(dtype.get<std::string>());
  for (const json& n : shape) {
    if (!n.is_number_unsigned() || n.get<uint64_t>() > INT64_MAX) damaged();
    tensor.shape.push_back(n.get<int64_t>());
  }
  if (tensor.encoding) {
    const auto size = tensor_bytes(*tensor.encoding, tensor.shape);
    if (!size || static_cast<uint64_t>(*size) != end - begin) {
      bad_model(path, "its tensor " + name + " has a size that doesn't match its shape");
    }
  }
  tensor.data = data.data() + begin;
  if (!tensors.emplace(renamed(name), std::move(tensor)).second) {
    bad_model(path, "it has the tensor " + name + " twice");
  }
}

void add_file(std::shared_ptr<const MappedFile> file, ModelFiles& model) {
  const std::string& path = file->path();
  Cursor at(path, file->bytes());
  const auto header_size = at.value<uint64_t>();
  if (header_size > kMaxHeader) bad_model(path, "its header is impossibly long; fetch it again");
  const json header = parse_object(path, at.take(header_size));
  const auto data = at.take(at.left());
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") add_tensor(path, name, entry, data, model.tensors);
  }
  model.files.push_back(std::move(file));
}

void check_config(const fs::path& config_path, const Dims& dims) {
  std::error_code error;
  if (!fs::exists(config_path, error)) return;
  const std::string path = config_path;
  const json config = parse_object(path, MappedFile::open(path)->bytes());
  if (config.contains("model_type") && config["model_type"] != "whisper") {
    bad_model(path, "its model_type is not \"whisper\"");
  }
  const std::pair<const char*, int> declared[] = {
      {"d_model", dims.width},
      {"encoder_attention_heads", dims.heads},
      {"decoder_attention_heads", dims.heads},
      {"encoder_layers", dims.encoder_layers},
      {"decoder_layers", dims.decoder_layers},
      {"num_mel_bins", dims.mel_bins},
      {"vocab_size", dims.vocabulary},
      {"max_source_positions", kAudioContext},
      {"max_target_positions", kTextContext},
  };
  for (const auto& [key, actual] : declared) {
    const auto found = config.find(key);
    if (found == config.end()) continue;
    if (!found->is_number_integer()) bad_model(path, std::string(key) + " in it is not a number");
    check_declared(path, key, found->get<int64_t>(), actual);
  }
}

Weights finish(ModelFiles model) {
  const fs::path folder = fs::path(model.path).parent_path();
  Weights weights = assemble(std::move(model));
  check_config(folder / "config.json", weights.dims);
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (weights.alignment_heads.empty()) weights.alignment_heads = alignment_heads_in(folder / name, weights.dims);
  }
  return weights;
}

}  // namespace

Weights read_safetensors(std::shared_ptr<const MappedFile> file) {
  ModelFiles model{file->path(), {}, {}};
  add_file(std::move(file), model);
  return finish(std::move(model));
}

Weights read_safetensors_shards(const std::string& index_path) {
  const json index = parse_object(index_path, MappedFile::open(index_path)->bytes());
  const auto weight_map = index.find("weight_map");
  if (weight_map == index.end() || !weight_map->is_object()) bad_model(index_path, "it has no weight_map");
  std::set<std::string> shards;
  for (const auto& [name, shard] : weight_map->items()) {
    if (!shard.is_string()) bad_model(index_path, "it names no file for the tensor " + name);
    shards.insert(shard.get<std::string>());
  }
  ModelFiles model{index_path, {}, {}};
  for (const std::string& shard : shards) {
    if (shard.find('/') != std::string::npos) bad_model(index_path, "it names a file outside its folder: " + shard);
    add_file(MappedFile::open(fs::path(index_path).replace_filename(shard)), model);
  }
  return finish(std::move(model));
}

}  // namespace sotto
