// ggml .bin: a header of eleven numbers, the mel filters, the vocabulary, then the tensors one after the other.
#include "models/error.h"
#include "models/readers.h"

namespace sotto {
namespace {

struct Header {  // in the file's order
  uint32_t magic;
  int32_t n_vocab, n_audio_ctx, n_audio_state, n_audio_head, n_audio_layer;
  int32_t n_text_ctx, n_text_state, n_text_head, n_text_layer;
  int32_t n_mels, file_type;
};

std::optional<Encoding> encoding_of(int32_t type) {
  switch (type) {
    case 0: return Encoding::f32;
    case 1: return Encoding::f16;
    case 2: return Encoding::q4_0;
    case 3: return Encoding::q4_1;
    case 6: return Encoding::q5_0;
    case 7: return Encoding::q5_1;
    case 8: return Encoding::q8_0;
    default: return std::nullopt;
  }
}

void skip_filters_and_vocabulary(const std::string& path, Cursor& at) {
  const auto n_mel = at.value<int32_t>();
  const auto n_fft = at.value<int32_t>();
  if (n_mel < 0 || n_fft < 0) bad_model(path, "its mel filters have a negative size");
  at.take(static_cast<uint64_t>(n_mel) * static_cast<uint64_t>(n_fft) * sizeof(float));
  const auto n_tokens = at.value<int32_t>();
  for (int32_t i = 0; i < n_tokens; ++i) at.take(at.value<uint32_t>());
}

void read_tensor(const std::string& path, Cursor& at, FileTensors& tensors) {
  const auto n_dims = at.value<int32_t>();
  const auto name_size = at.value<uint32_t>();
  const auto type = at.value<int32_t>();
  if (n_dims < 1 || n_dims > 4) bad_model(path, "one of its tensors has " + std::to_string(n_dims) + " dimensions");
  FileTensor tensor;
  tensor.encoding = encoding_of(type);
  for (int32_t i = 0; i < n_dims; ++i) tensor.shape.insert(tensor.shape.begin(), at.value<int32_t>());
  const std::string name(at.text(name_size));
  // Without its type's size there is no way to the next tensor.
  if (!tensor.encoding) bad_model(path, "its tensor " + name + " has the unknown type " + std::to_string(type));
  const auto size = tensor_bytes(*tensor.encoding, tensor.shape);
  if (!size) bad_model(path, "its tensor " + name + " has an impossible shape");
  tensor.data = at.take(static_cast<uint64_t>(*size)).data();
  if (!tensors.emplace(name, std::move(tensor)).second) bad_model(path, "it has the tensor " + name + " twice");
}

}  // namespace

Weights read_ggml(std::shared_ptr<const MappedFile> file) {
  const std::string path = file->path();
  Cursor at(path, file->bytes());
  const auto header = at.value<Header>();
  skip_filters_and_vocabulary(path, at);
  ModelFiles model{path, {file}, {}};
  while (at.left() > 0) read_tensor(path, at, model.tensors);

  Weights weights = assemble(std::move(model));
  const Dims& dims = weights.dims;
  check_declared(path, "n_vocab", header.n_vocab, dims.vocabulary);
  check_declared(path, "n_audio_ctx", header.n_audio_ctx, kAudioContext);
  check_declared(path, "n_audio_state", header.n_audio_state, dims.width);
  check_declared(path, "n_audio_head", header.n_audio_head, dims.heads);
  check_declared(path, "n_audio_layer", header.n_audio_layer, dims.encoder_layers);
  check_declared(path, "n_text_ctx", header.n_text_ctx, kTextContext);
  check_declared(path, "n_text_state", header.n_text_state, dims.width);
  check_declared(path, "n_text_head", header.n_text_head, dims.heads);
  check_declared(path, "n_text_layer", header.n_text_layer, dims.decoder_layers);
  check_declared(path, "n_mels", header.n_mels, dims.mel_bins);
  return weights;
}

}  // namespace sotto
