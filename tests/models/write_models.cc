// The writers of the four formats.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "models/tiny_whisper.h"

namespace sotto::testing {
namespace {

using nlohmann::json;

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// ---- OpenAI: a pickle as torch.save writes it, in a zip of stored entries

void pickle_text(std::string& out, const std::string& text) {
  out += 'X';
  put<uint32_t>(out, static_cast<uint32_t>(text.size()));
  out += text;
}
void pickle_integer(std::string& out, int64_t number) {
  out += 'J';
  put<int32_t>(out, static_cast<int32_t>(number));
}
void pickle_tuple(std::string& out, const std::vector<int64_t>& numbers) {
  out += '(';
  for (const int64_t number : numbers) pickle_integer(out, number);
  out += 't';
}

void pickle_tensor(std::string& out, const TinyTensor& tensor, const std::string& storage_type,
                   const std::string& key) {
  const int64_t n = static_cast<int64_t>(tensor.values.size());
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t i = strides.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * tensor.shape[i + 1];
  pickle_text(out, tensor.name);
  out += "ctorch._utils\n_rebuild_tensor_v2\n((";
  pickle_text(out, "storage");
  out += "ctorch\n" + storage_type + "\n";
  pickle_text(out, key);
  pickle_text(out, "cpu");
  pickle_integer(out, n);
  out += "tQ";
  pickle_integer(out, 0);
  pickle_tuple(out, tensor.shape);
  pickle_tuple(out, strides);
  out += "\x89" "ccollections\nOrderedDict\n)RtR";
}

class ZipWriter {
 public:
  void add(const std::string& name, const std::string& data) {
    const uint32_t offset = static_cast<uint32_t>(out_.size());
    put<uint32_t>(out_, 0x04034b50);
    const std::string common = fields(name, data);
    out_ += common + name + data;
    put<uint32_t>(directory_, 0x02014b50);
    put<uint16_t>(directory_, 0);
    directory_ += common;
    directory_.append(10, '\0');
    put<uint32_t>(directory_, offset);
    directory_ += name;
    ++n_;
  }
  std::string finish() {
    const uint32_t offset = static_cast<uint32_t>(out_.size());
    out_ += directory_;
    put<uint32_t>(out_, 0x06054b50);
    put<uint32_t>(out_, 0);
    put<uint16_t>(out_, n_);
    put<uint16_t>(out_, n_);
    put<uint32_t>(out_, static_cast<uint32_t>(directory_.size()));
    put<uint32_t>(out_, offset);
    put<uint16_t>(out_, 0);
    return out_;
  }

 private:
  static std::string fields(const std::string& name, const std::string& data) {  // from the version to the lengths
    std::string out(14, '\0');
    put<uint32_t>(out, static_cast<uint32_t>(data.size()));
    put<uint32_t>(out, static_cast<uint32_t>(data.size()));
    put<uint16_t>(out, static_cast<uint16_t>(name.size()));
    put<uint16_t>(out, 0);
    return out;
  }
  std::string out_, directory_;
  uint16_t n_ = 0;
};

// ---- Hugging Face and CTranslate2: names

std::string replaced(std::string text, std::initializer_list<std::pair<const char*, const char*>> rules) {
  for (const auto& [from, to] : rules) {
    const size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, std::string(from).size(), to);
  }
  return text;
}

std::string hugging_face_name(const std::string& name) {
  return "model." + replaced(name, {{"encoder.positional_embedding", "encoder.embed_positions.weight"},
                                    {"decoder.positional_embedding", "decoder.embed_positions.weight"},
                                    {"token_embedding", "embed_tokens"},
                                    {"ln_post", "layer_norm"},
                                    {"decoder.ln.", "decoder.layer_norm."},
                                    {"blocks", "layers"},
                                    {".cross_attn_ln", ".encoder_attn_layer_norm"},
                                    {".attn_ln", ".self_attn_layer_norm"},
                                    {".mlp_ln", ".final_layer_norm"},
                                    {".cross_attn.", ".encoder_attn."},
                                    {".attn.", ".self_attn."},
                                    {".query.", ".q_proj."},
                                    {".key.", ".k_proj."},
                                    {".value.", ".v_proj."},
                                    {".out.", ".out_proj."},
                                    {"mlp.0", "fc1"},
                                    {"mlp.2", "fc2"}});
}

std::string ctranslate2_name(const std::string& name) {
  std::string out = replaced(name, {{"positional_embedding", "position_encodings.encodings"},
                                    {"token_embedding", "embeddings"},
                                    {"ln_post", "layer_norm"},
                                    {"decoder.ln.", "decoder.layer_norm."},
                                    {"blocks.", "layer_"},
                                    {".cross_attn_ln", ".attention.layer_norm"},
                                    {".attn_ln", ".self_attention.layer_norm"},
                                    {".mlp_ln", ".ffn.layer_norm"},
                                    {".cross_attn.query", ".attention.linear_0"},
                                    {".cross_attn.key", ".attention.linear_1"},
                                    {".cross_attn.out", ".attention.linear_2"},
                                    {".attn.query", ".self_attention.linear_0"},
                                    {".attn.out", ".self_attention.linear_1"},
                                    {"mlp.0", "ffn.linear_0"},
                                    {"mlp.2", "ffn.linear_1"}});
  if (out.find("layer_norm") != std::string::npos) out = replaced(out, {{"weight", "gamma"}, {"bias", "beta"}});
  std::replace(out.begin(), out.end(), '.', '/');
  return out;
}

// The tensor that CTranslate2 keeps instead of this one: the projections of one input stacked, a key's bias as zeros.
// Empty values for one that is in another's stack.
TinyTensor stacked(TinyWhisper& model, const TinyTensor& tensor) {
  const size_t query = tensor.name.find(".attn.query."), key = tensor.name.find(".cross_attn.key.weight");
  const bool in_stack = tensor.name.find(".attn.key.") != std::string::npos ||
                        tensor.name.find("attn.value.") != std::string::npos;
  if (in_stack) return {};
  TinyTensor out = tensor;
  const auto append = [&](const std::string& name) {
    const auto& values = model.find(name).values;
    out.values.insert(out.values.end(), values.begin(), values.end());
  };
  if (query != std::string::npos) {
    const std::string at = tensor.name.substr(0, query) + ".attn.";
    const std::string leaf = tensor.name.substr(query + 12);
    if (leaf == "weight") append(at + "key.weight");
    if (leaf == "bias") out.values.resize(out.values.size() + TinyWhisper::kWidth);
    append(at + "value." + leaf);
    out.shape[0] *= 3;
  } else if (key != std::string::npos) {
    append(tensor.name.substr(0, key) + ".cross_attn.value.weight");
    out.shape[0] *= 2;
  }
  return out;
}

void put_string(std::string& out, const std::string& text) {
  put<uint16_t>(out, static_cast<uint16_t>(text.size() + 1));
  out += text + '\0';
}

void put_variable(std::string& out, const std::string& name, const std::vector<int64_t>& shape, uint8_t type,
                  const std::string& bytes) {
  put_string(out, name);
  put<uint8_t>(out, static_cast<uint8_t>(shape.size()));
  for (const int64_t dim : shape) put<uint32_t>(out, static_cast<uint32_t>(dim));
  put<uint8_t>(out, type);
  put<uint32_t>(out, static_cast<uint32_t>(bytes.size()));
  out += bytes;
}

uint8_t ctranslate2_type(Encoding encoding) {
  switch (encoding) {
    case Encoding::f32: return 0;
    case Encoding::i8: return 1;
    case Encoding::f16: return 4;
    case Encoding::bf16: return 5;
    default: throw std::logic_error("not one of CTranslate2's types");
  }
}

// The int8 form of a matrix with one scale for all of it.
Written with_one_scale(const TinyTensor& tensor) {
  Written out = encode(tensor.values, static_cast<int64_t>(tensor.values.size()), Encoding::i8);
  out.row_scales.resize(1);
  return out;
}

}  // namespace

Expected write_openai(const std::string& path, const TinyWhisper& model, Encoding encoding) {
  const std::string storage_type = encoding == Encoding::f16 ? "HalfStorage" : "FloatStorage";
  Expected expected;
  ZipWriter zip;
  std::string pickle = "\x80\x02}q";
  pickle += '\0';
  pickle += '(';
  pickle_text(pickle, "dims");
  pickle += "}(";
  const std::pair<const char*, int> dims[] = {
      {"n_mels", TinyWhisper::kMelBins}, {"n_vocab", TinyWhisper::kVocabulary},
      {"n_audio_ctx", kAudioContext},    {"n_audio_state", TinyWhisper::kWidth},
      {"n_audio_head", 1},               {"n_audio_layer", model.encoder_layers},
      {"n_text_ctx", kTextContext},      {"n_text_state", TinyWhisper::kWidth},
      {"n_text_head", 1},                {"n_text_layer", model.decoder_layers}};
  for (const auto& [name, value] : dims) {
    pickle_text(pickle, name);
    pickle_integer(pickle, value);
  }
  pickle += 'u';
  pickle_text(pickle, "model_state_dict");
  pickle += "ccollections\nOrderedDict\n)R(";
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    pickle_tensor(pickle, model.tensors[i], storage_type, std::to_string(i));
  }
  pickle += "u}";  // the dict's attributes, as a module's state dict has them
  pickle_text(pickle, "_metadata");
  pickle += "ccollections\nOrderedDict\n)Rsbu.";
  zip.add("model/data.pkl", pickle);
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const TinyTensor& tensor = model.tensors[i];
    Written written = encode(tensor.values, tensor.cols(), encoding);
    zip.add("model/data/" + std::to_string(i), written.bytes);
    expected[tensor.name] = std::move(written.values);
  }
  zip.add("model/byteorder", "little");
  zip.add("model/version", "3\n");
  write_text(path, zip.finish());
  return expected;
}

Expected write_ggml(const std::string& path, const TinyWhisper& model, Encoding encoding) {
  static const std::map<Encoding, int32_t> kTypes = {
      {Encoding::f32, 0},  {Encoding::f16, 1},  {Encoding::q4_0, 2}, {Encoding::q4_1, 3},
      {Encoding::q5_0, 6}, {Encoding::q5_1, 7}, {Encoding::q8_0, 8}};
  std::string out;
  for (const int32_t number : {0x67676d6c, TinyWhisper::kVocabulary, kAudioContext, TinyWhisper::kWidth, 1,
                               model.encoder_layers, kTextContext, TinyWhisper::kWidth, 1, model.decoder_layers,
                               TinyWhisper::kMelBins, 1}) {
    put<int32_t>(out, number);
  }
  put<int32_t>(out, TinyWhisper::kMelBins);
  put<int32_t>(out, 2);  // of the 201 values that real ones have
  out.append(TinyWhisper::kMelBins * 2 * sizeof(float), '\0');
  put<int32_t>(out, 3);
  for (const std::string token : {"a", "", "word"}) {
    put<int32_t>(out, static_cast<int32_t>(token.size()));
    out += token;
  }
  Expected expected;
  for (const TinyTensor& tensor : model.tensors) {
    const bool is_matrix = tensor.shape.size() == 2 && tensor.name.find("positional") == std::string::npos;
    const bool is_half = tensor.shape.size() == 3 && encoding != Encoding::f32;
    const Encoding kind = is_matrix ? encoding : is_half ? Encoding::f16 : Encoding::f32;
    std::vector<int64_t> shape = tensor.shape;
    if (tensor.name.find("conv") != std::string::npos && shape.size() == 1) shape.push_back(1);
    Written written = encode(tensor.values, tensor.cols(), kind);
    put<int32_t>(out, static_cast<int32_t>(shape.size()));
    put<int32_t>(out, static_cast<int32_t>(tensor.name.size()));
    put<int32_t>(out, kTypes.at(kind));
    for (size_t i = shape.size(); i-- > 0;) put<int32_t>(out, static_cast<int32_t>(shape[i]));
    out += tensor.name + written.bytes;
    expected[tensor.name] = std::move(written.values);
  }
  write_text(path, out);
  return expected;
}

Expected write_safetensors(const std::string& folder, const TinyWhisper& model, Encoding encoding, int n_shards) {
  const char* dtype = encoding == Encoding::f32 ? "F32" : encoding == Encoding::f16 ? "F16" : "BF16";
  Expected expected;
  json index;
  std::vector<json> headers(static_cast<size_t>(n_shards));
  std::vector<std::string> data(headers.size());
  const auto file_name = [&](size_t shard) {
    return n_shards == 1 ? "model.safetensors" : "model-" + std::to_string(shard) + ".safetensors";
  };
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const TinyTensor& tensor = model.tensors[i];
    const size_t shard = i % headers.size();
    const std::string name = hugging_face_name(tensor.name);
    Written written = encode(tensor.values, tensor.cols(), encoding);
    const size_t begin = data[shard].size();
    data[shard] += written.bytes;
    headers[shard][name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data[shard].size()}}};
    index["weight_map"][name] = file_name(shard);
    expected[tensor.name] = std::move(written.values);
  }
  for (size_t shard = 0; shard < headers.size(); ++shard) {
    headers[shard]["__metadata__"]["format"] = "pt";
    const std::string header = headers[shard].dump();
    std::string out;
    put<uint64_t>(out, header.size());
    write_text(folder + "/" + file_name(shard), out + header + data[shard]);
  }
  if (n_shards > 1) write_text(folder + "/model.safetensors.index.json", index.dump());
  const json config = {{"model_type", "whisper"},
                       {"d_model", TinyWhisper::kWidth},
                       {"encoder_attention_heads", 1},
                       {"encoder_layers", model.encoder_layers},
                       {"decoder_layers", model.decoder_layers},
                       {"num_mel_bins", TinyWhisper::kMelBins},
                       {"vocab_size", TinyWhisper::kVocabulary}};
  write_text(folder + "/config.json", config.dump());
  return expected;
}

Expected write_ctranslate2(const std::string& folder, const TinyWhisper& model, Encoding encoding, bool one_scale) {
  TinyWhisper whole = model;
  Expected expected;
  std::string variables;
  uint32_t n = 1;
  put_variable(variables, "decoder/num_heads", {}, 2, std::string("\x01\x00", 2));
  for (const TinyTensor& tensor : model.tensors) {
    const Encoding unquantised = encoding == Encoding::i8 ? Encoding::f32 : encoding;
    expected.emplace(tensor.name, encode(tensor.values, tensor.cols(), unquantised).values);
    std::string name = ctranslate2_name(tensor.name);
    TinyTensor kept = stacked(whole, tensor);
    if (tensor.name.find(".cross_attn.value.bias") != std::string::npos) {  // stands for the stack with the key's zeros
      kept = tensor;
      kept.values.insert(kept.values.begin(), TinyWhisper::kWidth, 0.0f);
      kept.shape[0] *= 2;
      name = replaced(name, {{"cross_attn/value", "attention/linear_1"}});
    }
    if (kept.values.empty()) continue;
    const bool is_quantised = encoding == Encoding::i8 && kept.shape.size() > 1 &&
                              tensor.name.find("positional") == std::string::npos;
    const Encoding kind = is_quantised ? encoding : unquantised;
    const bool is_embedding = tensor.name == "decoder.token_embedding.weight";
    const Written written = is_embedding && one_scale ? with_one_scale(kept) : encode(kept.values, kept.cols(), kind);
    if (is_embedding) name = "decoder/projection/weight";  // and the embedding is an alias of it
    put_variable(variables, name, kept.shape, ctranslate2_type(kind), written.bytes);
    ++n;
    if (!is_quantised) continue;
    const Written scales = encode(written.row_scales, 1, Encoding::f32);
    put_variable(variables, name + "_scale", {static_cast<int64_t>(written.row_scales.size())}, 0, scales.bytes);
    ++n;
    const size_t size = tensor.values.size();
    const auto part = [&](size_t i) {
      const auto at = written.values.begin() + static_cast<ptrdiff_t>(i * size);
      return std::vector<float>(at, at + static_cast<ptrdiff_t>(size));
    };
    expected[tensor.name] = part(0);
    const auto expect_part = [&](const char* from, const char* to, size_t i) {
      if (tensor.name.find(from) != std::string::npos) expected[replaced(tensor.name, {{from, to}})] = part(i);
    };
    expect_part(".attn.query.", ".attn.key.", 1);
    expect_part(".attn.query.", ".attn.value.", 2);
    expect_part(".cross_attn.key.", ".cross_attn.value.", 1);
  }
  std::string out;
  put<uint32_t>(out, 6);
  put_string(out, "WhisperSpec");
  put<uint32_t>(out, 3);
  put<uint32_t>(out, n);
  out += variables;
  put<uint32_t>(out, encoding == Encoding::i8 ? 2 : 1);
  for (const std::string end : {"", "_scale"}) {
    if (!end.empty() && encoding != Encoding::i8) continue;
    put_string(out, "decoder/embeddings/weight" + end);
    put_string(out, "decoder/projection/weight" + end);
  }
  write_text(folder + "/model.bin", out);
  write_text(folder + "/config.json", R"({"alignment_heads": [[0, 0]]})");
  return expected;
}

}  // namespace sotto::testing
