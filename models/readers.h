// What the four readers share: each finds the tensors of its format and names them as OpenAI's files do; one assembler
// then checks that they are a whole Whisper. Nothing outside models/ includes this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/mapped_file.h"
#include "models/weights.h"

namespace sotto {

static_assert(std::endian::native == std::endian::little, "all formats are little endian and are read as they lie");

// Throws the Error for a model that is there but isn't one. what: a clause, "it ends too early".
[[noreturn]] void bad_model(const std::string& path, const std::string& what);

// A tensor as a file describes it; its bytes are known to lie within the file.
struct FileTensor {
  std::vector<int64_t> shape;        // outermost first
  std::optional<Encoding> encoding;  // none: a type that no Whisper's weights are stored in
  const std::byte* data = nullptr;
  const std::byte* row_scale = nullptr;
};

using FileTensors = std::unordered_map<std::string, FileTensor>;

struct ModelFiles {
  std::string path;  // for messages
  std::vector<std::shared_ptr<const MappedFile>> files;
  FileTensors tensors;  // under OpenAI's names; others are ignored
};

// Reads one value or a run of bytes after the other, never past the end.
class Cursor {
 public:
  Cursor(const std::string& path, std::span<const std::byte> bytes, size_t at = 0)
      : path_(path), bytes_(bytes), at_(at) {
    if (at > bytes.size()) ends_too_early();
  }

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(uint64_t n) {
    if (n > left()) ends_too_early();
    const auto taken = bytes_.subspan(at_, n);
    at_ += n;
    return taken;
  }
  template <typename T>
  T value() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::string_view text(uint64_t n) {
    const auto bytes = take(n);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  [[noreturn]] void ends_too_early() const;

  const std::string& path_;
  std::span<const std::byte> bytes_;
  size_t at_;
};

// Bytes of a tensor of this shape, outermost dimension first; none if they don't fit 63 bits, a dimension is negative
// or a row of blocks of 32 isn't whole.
std::optional<int64_t> tensor_bytes(Encoding encoding, std::span<const int64_t> shape);

// Builds the network from the tensors, whose shapes give its Dims. Throws Error for a missing tensor, a wrong shape,
// sizes that no Whisper has. name, digest and alignment heads stay empty.
Weights assemble(ModelFiles model);

// Checks a number that a file's header repeats.
void check_declared(const std::string& path, std::string_view what, int64_t declared, int64_t actual);

// A JSON file's alignment_heads, if it is there and has them: [[layer, head], ...]. Heads that the network doesn't have
// void the list: distilled models were published with the lists of their teachers.
std::vector<std::pair<int, int>> alignment_heads_in(const std::string& json_path, const Dims& dims);

Weights read_openai(std::shared_ptr<const MappedFile> file);
Weights read_ggml(std::shared_ptr<const MappedFile> file);
Weights read_ctranslate2(std::shared_ptr<const MappedFile> file);   // model.bin; config.json may lie beside it
Weights read_safetensors(std::shared_ptr<const MappedFile> file);   // config.json may lie beside it
Weights read_safetensors_shards(const std::string& index_path);     // model.safetensors.index.json

}  // namespace sotto
