// The weights of one Whisper as views into the mapped files they came in, under the names of the paper. Each engine
// reads them once, into the layout its kernels want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/dims.h"

namespace sotto {

// How a file stores values. The quantised kinds hold blocks of 32 values of a row (notes beside read_rows' code).
enum class Encoding : uint8_t { f32, f16, bf16, i8, q4_0, q4_1, q5_0, q5_1, q8_0 };

// A matrix as a file stores it: row-major, rows one after the other. A vector is one row. May be unaligned.
struct Stored {
  const std::byte* data = nullptr;  // null: the model has no such tensor (the bias of a key projection)
  Encoding encoding = Encoding::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  const std::byte* row_scale = nullptr;  // i8 only: f32 of each row; a value is q / scale

  explicit operator bool() const { return data != nullptr; }
  int64_t size() const { return rows * cols; }
  Stored row_range(int64_t first, int64_t count) const;  // a view of some of the rows
};

// Bytes that one row takes in the file.
int64_t row_bytes(Encoding encoding, int64_t cols);

// Rows [first, first + count) as f32 into out [count][cols].
void read_rows(const Stored& from, int64_t first, int64_t count, float* out);
std::vector<float> read_all(const Stored& from);  // [rows][cols]

struct Norm {
  Stored weight, bias;  // [width]
};
struct Linear {
  Stored weight;  // [out][in]
  Stored bias;    // [out], or absent
};
struct Attention {
  Linear query, key, value, out;  // all [width][width]; key has no bias
};
struct EncoderBlock {
  Norm attn_ln;
  Attention attn;
  Norm mlp_ln;
  Linear fc1, fc2;  // [4 width][width], [width][4 width]
};
struct DecoderBlock {
  Norm attn_ln;
  Attention attn;
  Norm cross_attn_ln;
  Attention cross_attn;
  Norm mlp_ln;
  Linear fc1, fc2;
};

class MappedFile;

struct Weights {
  Dims dims;
  std::string name;    // what the user asked for, for messages: "base", "my-model/"
  std::string digest;  // hex; same weights file, same digest: keys the engines' caches of packed weights

  Linear conv1, conv2;                       // [width][mel_bins * 3], [width][width * 3]: [out][in][tap]
  Stored encoder_positions;                  // [1500][width]
  std::vector<EncoderBlock> encoder;
  Norm encoder_ln;                           // ln_post
  Stored token_embedding;                    // [vocabulary][width], also the output projection
  Stored decoder_positions;                  // [448][width]
  std::vector<DecoderBlock> decoder;
  Norm decoder_ln;
  std::vector<std::pair<int, int>> alignment_heads;  // (decoder layer, head) whose attention follows the audio

  std::vector<std::shared_ptr<const MappedFile>> files;  // keep the views above alive
};

// Opens the model at a path, whatever its format: an OpenAI .pt, a ggml .bin, a Hugging Face folder (or its
// .safetensors), a CTranslate2 folder (or its model.bin). The format is told by content. Every offset and size is
// checked before use; throws Error, one sentence, for anything that is not a whole, well-formed Whisper.
std::shared_ptr<const Weights> open_weights(const std::string& path);

}  // namespace sotto
