#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "models/catalog.h"
#include "models/error.h"
#include "models/tiny_whisper.h"
#include "models/weights.h"
#include "temporary.h"

namespace sotto {
namespace {
namespace fs = std::filesystem;
using namespace testing;

const TinyWhisper& tiny_whisper() {
  static const TinyWhisper model;
  return model;
}

// Every tensor has to be there and equal to the bit.
void check_equal(const Weights& weights, const Expected& expected) {
  size_t n = 0;
  for_each_tensor(weights, [&](const std::string& name, const Stored& tensor) {
    INFO(name);
    REQUIRE(tensor);
    const auto found = expected.find(name);
    REQUIRE(found != expected.end());
    CHECK(read_all(tensor) == found->second);
    ++n;
  });
  CHECK(n == expected.size());
}

std::string error_of(const std::string& path) {
  try {
    open_weights(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void check_error(const std::string& path, const std::string& part) {
  const std::string error = error_of(path);
  INFO(error);
  CHECK(error.find(part) != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
  CHECK(!error.ends_with("."));
}

std::optional<std::string> real_weights(const std::string& name) {
  const char* folder = std::getenv("SOTTO_TEST_MODELS");
  for (const std::string& path : {folder ? folder + ("/" + name) : "", sotto_home() + "/models/" + name}) {
    if (!path.empty() && fs::exists(path + "/model.bin")) return path;
  }
  MESSAGE("skipped: no weights of ", name, " on this machine");
  return std::nullopt;
}

TEST_CASE("the same weights in all four formats are identical tensors") {
  const TemporaryFolder folder;
  const std::string at = folder.path();
  fs::create_directories(at + "/hugging-face");
  fs::create_directories(at + "/ctranslate2");
  const Expected expected = write_openai(at + "/tiny.pt", tiny_whisper(), Encoding::f16);
  CHECK(write_safetensors(at + "/hugging-face", tiny_whisper(), Encoding::f16) == expected);
  CHECK(write_ctranslate2(at + "/ctranslate2", tiny_whisper(), Encoding::f16) == expected);
  for (const char* path : {"/tiny.pt", "/hugging-face", "/ctranslate2", "/ctranslate2/model.bin"}) {
    CAPTURE(path);
    const auto weights = open_weights(at + path);
    CHECK(weights->dims == Dims{64, 1, 1, 1, 80, 51864});
    check_equal(*weights, expected);
  }
  // ggml keeps vectors and positions in f32 always, so only its matrices are the same.
  const Expected in_ggml = write_ggml(at + "/tiny.bin", tiny_whisper(), Encoding::f16);
  const auto weights = open_weights(at + "/tiny.bin");
  check_equal(*weights, in_ggml);
  CHECK(read_all(weights->token_embedding) == expected.at("decoder.token_embedding.weight"));
  CHECK(read_all(weights->decoder[0].cross_attn.key.weight) == expected.at("decoder.blocks.0.cross_attn.key.weight"));
  CHECK(read_all(weights->conv1.weight) == expected.at("encoder.conv1.weight"));
}

TEST_CASE("f32 and bf16 are read as they were written") {
  const TemporaryFolder folder;
  for (const Encoding encoding : {Encoding::f32, Encoding::bf16}) {
    CAPTURE(int(encoding));
    const Expected safetensors = write_safetensors(folder.path(), tiny_whisper(), encoding);
    check_equal(*open_weights(folder.path() + "/model.safetensors"), safetensors);
    const Expected ctranslate2 = write_ctranslate2(folder.path(), tiny_whisper(), encoding);
    check_equal(*open_weights(folder.path() + "/model.bin"), ctranslate2);
    CHECK(ctranslate2 == safetensors);
  }
  const Expected openai = write_openai(folder.path() + "/tiny.pt", tiny_whisper(), Encoding::f32);
  check_equal(*open_weights(folder.path() + "/tiny.pt"), openai);
}

TEST_CASE("ggml's quantised kinds are read as they were written") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ggml-tiny.bin";
  for (const Encoding encoding : {Encoding::f32, Encoding::q4_0, Encoding::q4_1, Encoding::q5_0, Encoding::q5_1,
                                  Encoding::q8_0}) {
    CAPTURE(int(encoding));
    const Expected expected = write_ggml(path, tiny_whisper(), encoding);
    const auto weights = open_weights(path);
    CHECK(weights->encoder[0].fc1.weight.encoding == encoding);
    check_equal(*weights, expected);
  }
}

TEST_CASE("CTranslate2's int8 has a scale for each row, or one for all") {
  const TemporaryFolder folder;
  for (const bool one_scale : {false, true}) {
    CAPTURE(one_scale);
    const Expected expected = write_ctranslate2(folder.path(), tiny_whisper(), Encoding::i8, one_scale);
    const auto weights = open_weights(folder.path());
    CHECK(weights->decoder[0].attn.value.weight.encoding == Encoding::i8);
    check_equal(*weights, expected);
  }
}

TEST_CASE("rows are read from anywhere") {
  const TemporaryFolder folder;
  const Expected expected = write_ctranslate2(folder.path(), tiny_whisper(), Encoding::i8);
  const auto weights = open_weights(folder.path());
  const auto& values = expected.at("decoder.token_embedding.weight");
  std::vector<float> rows(3 * 64);
  read_rows(weights->token_embedding.row_range(1000, 50), 7, 3, rows.data());
  CHECK(std::equal(rows.begin(), rows.end(), values.begin() + 1007 * 64));
}

TEST_CASE("every half-precision number is read exactly") {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const Stored stored{reinterpret_cast<const std::byte*>(bits.data()), Encoding::f16, 1, 65536};
  const std::vector<float> values = read_all(stored);
  size_t n_wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    float value = exponent == 0 ? std::ldexp(float(fraction), -24) : std::ldexp(float(1024 + fraction), exponent - 25);
    if (exponent == 31) value = std::numeric_limits<float>::infinity();
    if (i & 0x8000) value = -value;
    const bool is_nan = exponent == 31 && fraction != 0;
    n_wrong += is_nan ? !std::isnan(values[i]) : values[i] != value;
  }
  CHECK(n_wrong == 0);
}

TEST_CASE("a model in shards, without a prefix to its names, with fewer decoder layers") {
  const TemporaryFolder folder;
  const TinyWhisper distilled(3, 1);
  const Expected expected = write_safetensors(folder.path(), distilled, Encoding::f16, 3);
  const auto sharded = open_weights(folder.path());
  CHECK(sharded->dims == Dims{64, 1, 3, 1, 80, 51864});
  check_equal(*sharded, expected);
  check_equal(*open_weights(folder.path() + "/model.safetensors.index.json"), expected);

  write_safetensors(folder.path(), distilled, Encoding::f16);
  const std::string path = folder.path() + "/model.safetensors";
  std::string text = read_text(path);
  const size_t header_end = 8 + static_cast<unsigned char>(text[0]) + 256u * static_cast<unsigned char>(text[1]);
  for (size_t at = 8; (at = text.find("\"model.", at)) < header_end; ++at) text.replace(at, 7, "      \"");
  write_text(path, text);
  check_equal(*open_weights(path), expected);

  fs::remove(folder.path() + "/model-1.safetensors");
  fs::remove(path);
  check_error(folder.path(), "model-1.safetensors");
}

TEST_CASE("a model has the name that the user knows it by") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() + "/tiny.en");
  write_ctranslate2(folder.path() + "/tiny.en", tiny_whisper(), Encoding::f16);
  write_ggml(folder.path() + "/ggml-tiny.en.bin", tiny_whisper(), Encoding::f16);
  const std::pair<const char*, const char*> cases[] = {{"/tiny.en", "tiny.en"},
                                                       {"/tiny.en/", "tiny.en"},
                                                       {"/tiny.en/model.bin", "tiny.en"},
                                                       {"/ggml-tiny.en.bin", "ggml-tiny.en"}};
  for (const auto& [path, name] : cases) CHECK(open_weights(folder.path() + path)->name == name);
}

TEST_CASE("a digest stays with the weights, wherever they lie, and changes with them") {
  const TemporaryFolder folder;
  TinyWhisper model = tiny_whisper();
  const auto digest = [&](const std::string& name) {
    write_openai(folder.path() + name, model, Encoding::f16);
    return open_weights(folder.path() + name)->digest;
  };
  const std::string before = digest("/a.pt");
  CHECK(before.size() == 64);
  CHECK(digest("/b.pt") == before);
  for (float& value : model.find("encoder.blocks.0.attn.key.weight").values) value *= 1.01f;
  CHECK(digest("/c.pt") != before);
}

TEST_CASE("alignment heads: the file's own, else the catalog's, else the upper half of the decoder") {
  const TemporaryFolder folder;
  using Heads = std::vector<std::pair<int, int>>;
  write_ctranslate2(folder.path(), TinyWhisper(1, 3), Encoding::f16);
  CHECK(open_weights(folder.path())->alignment_heads == Heads{{0, 0}});
  // A list made for a larger network.
  write_text(folder.path() + "/config.json", R"({"alignment_heads": [[0, 0], [3, 0]]})");
  CHECK(open_weights(folder.path())->alignment_heads == Heads{{1, 0}, {2, 0}});
  write_text(folder.path() + "/config.json", "{");
  check_error(folder.path(), "JSON");
  write_safetensors(folder.path(), TinyWhisper(1, 3), Encoding::f16);
  write_text(folder.path() + "/generation_config.json", R"({"alignment_heads": [[2, 0]]})");
  CHECK(open_weights(folder.path())->alignment_heads == Heads{{2, 0}});

  const auto base = real_weights("base");
  if (!base) return;
  fs::create_directories(folder.path() + "/mine");
  fs::create_symlink(fs::absolute(*base) / "model.bin", folder.path() + "/mine/model.bin");
  const auto known = find_in_catalog("base")->alignment_heads;
  CHECK(open_weights(folder.path() + "/mine")->alignment_heads == Heads(known.begin(), known.end()));
}

TEST_CASE("a tensor that is missing or has the wrong shape is named") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/tiny.pt";
  TinyWhisper model = tiny_whisper();
  std::erase_if(model.tensors, [](const TinyTensor& t) { return t.name == "decoder.blocks.0.cross_attn.out.bias"; });
  write_openai(path, model, Encoding::f16);
  check_error(path, "no tensor decoder.blocks.0.cross_attn.out.bias");

  model = tiny_whisper();
  model.find("encoder.blocks.0.mlp.0.weight").shape = {64, 256};
  write_openai(path, model, Encoding::f16);
  check_error(path, "encoder.blocks.0.mlp.0.weight has the shape [64, 256] instead of [256, 64]");

  model = tiny_whisper();
  model.find("decoder.token_embedding.weight").shape = {51864 * 2, 32};
  write_openai(path, model, Encoding::f16);
  check_error(path, "a width of 32");

  model = tiny_whisper();
  model.encoder_layers = 2;
  write_openai(path, model, Encoding::f16);
  check_error(path, "n_audio_layer = 2");
  model = TinyWhisper(2, 1);
  std::erase_if(model.tensors, [](const TinyTensor& t) { return t.name.starts_with("encoder.blocks.0."); });
  write_ggml(path, model, Encoding::q5_1);
  check_error(path, "no tensor encoder.blocks.0.attn_ln.weight");
}

TEST_CASE("what lies where a model should be gets a sentence that helps") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model.bin";
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"x", "none of the formats"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"},
      {"<!DOCTYPE html><html>Not found</html>", "web page"},
      {std::string("\x80\x02\x8a\x0a", 4), "PyTorch"},
      {"GGUF\x03", "GGUF"},
      {"PK\x03\x04 and no more", "cut short"},
      {"lmgg", "ends too early"},
      {std::string("\x06\0\0\0\x10\0TransformerSpec\0\0\0\0\0", 26), "TransformerSpec"},
      {std::string("\x05\0\0\0\x0c\0WhisperSpec\0\0\0\0\0", 22), "version 5"},
      {std::string("\xff\xff\xff\xff\0\0\0\0{", 9), "impossibly long"},
  };
  for (const auto& [content, part] : cases) {
    write_text(path, content);
    check_error(path, part);
    check_error(folder.path(), part);
  }
  fs::remove(path);
  check_error(folder.path(), "holds no model");
  check_error(path, "no file");
  write_text(folder.path() + "/pytorch_model.bin", "x");
  check_error(folder.path(), "model.safetensors");
  fs::create_directories(path);
  check_error(folder.path(), "is not a file");
}

TEST_CASE("a pickle that asks for anything but tensors is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/tiny.pt";
  write_openai(path, tiny_whisper(), Encoding::f16);
  std::string text = read_text(path);
  const std::string asked = "ctorch._utils\n_rebuild_tensor_v2\n";
  const size_t at = text.find(asked);
  REQUIRE(at != std::string::npos);
  text.replace(at, asked.size(), "cos\nsystem" + std::string(asked.size() - 11, '_') + "\n");
  write_text(path, text);
  check_error(path, "asks for os.system");
}

TEST_CASE("the real weights are what the catalog says they are") {
  for (const char* name : {"base", "tiny.en"}) {
    const auto path = real_weights(name);
    if (!path) continue;
    const auto weights = open_weights(*path);
    const CatalogEntry* entry = find_in_catalog(name);
    REQUIRE(entry);
    CHECK(weights->dims == entry->dims);
    CHECK(std::equal(weights->alignment_heads.begin(), weights->alignment_heads.end(), entry->alignment_heads.begin(),
                     entry->alignment_heads.end()));
    // The encoder's positions are sinusoids: sin and cos of the position over wavelengths up to 10000.
    const std::vector<float> positions = read_all(weights->encoder_positions);
    const int half = weights->dims.width / 2;
    double largest = 0;
    for (int position = 0; position < kAudioContext; ++position) {
      for (int i = 0; i < half; ++i) {
        const double angle = position * std::exp(-std::log(10000.0) * i / (half - 1));
        const float* row = positions.data() + position * 2 * half;
        largest = std::max({largest, std::fabs(row[i] - std::sin(angle)), std::fabs(row[half + i] - std::cos(angle))});
      }
    }
    CHECK(largest < 1e-3);  // half precision rounds to 2^-12 of 1 at most; single precision angles add some 1e-4
  }
}

}  // namespace
}  // namespace sotto
