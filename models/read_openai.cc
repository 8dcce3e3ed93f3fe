// OpenAI's .pt: a zip of stored entries, one of which is a pickle that says which tensor lies in which other entry.
#include "models/error.h"
#include "models/pickle.h"
#include "models/readers.h"
#include "models/zip.h"

namespace sotto {
namespace {

// A state dict's pickle takes some 200 bytes a tensor; a limit keeps what reading it may take in proportion.
constexpr size_t kMaxPickle = 8 << 20;

std::optional<Encoding> encoding_of(std::string_view storage_type) {
  if (storage_type == "HalfStorage") return Encoding::f16;
  if (storage_type == "FloatStorage") return Encoding::f32;
  if (storage_type == "BFloat16Storage") return Encoding::bf16;
  return std::nullopt;
}

bool is_contiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, shape[i], &expected)) return false;
  }
  return true;
}

FileTensor locate(const std::string& path, const std::string& name, const PickledTensor& pickled, const Zip& zip) {
  FileTensor tensor;
  tensor.shape = pickled.shape;
  tensor.encoding = encoding_of(pickled.storage_type);
  if (!tensor.encoding) return tensor;
  const auto size = tensor_bytes(*tensor.encoding, pickled.shape);
  if (!size || pickled.shape.size() != pickled.strides.size() || !is_contiguous(pickled.shape, pickled.strides)) {
    bad_model(path, "its tensor " + name + " is not laid out row by row; save a contiguous copy of it");
  }
  const auto storage = zip.find("data/" + std::string(pickled.storage_key));
  if (!storage) bad_model(path, "the values of its tensor " + name + " are missing");
  const int64_t stored = static_cast<int64_t>(storage->size());
  int64_t start = 0;
  if (pickled.offset < 0 || __builtin_mul_overflow(pickled.offset, row_bytes(*tensor.encoding, 1), &start) ||
      *size > stored || start > stored - *size) {
    bad_model(path, "its tensor " + name + " lies beyond the values stored for it; fetch it again");
  }
  tensor.data = storage->data() + start;
  return tensor;
}

void check_dims(const std::string& path, const Pickle& pickle, const Pickle::Value& declared, const Dims& dims) {
  const std::pair<const char*, int> expected[] = {
      {"n_mels", dims.mel_bins},
      {"n_vocab", dims.vocabulary},
      {"n_audio_ctx", kAudioContext},
      {"n_audio_state", dims.width},
      {"n_audio_head", dims.heads},
      {"n_audio_layer", dims.encoder_layers},
      {"n_text_ctx", kTextContext},
      {"n_text_state", dims.width},
      {"n_text_head", dims.heads},
      {"n_text_layer", dims.decoder_layers},
  };
  for (const auto& [key, actual] : expected) {
    const Pickle::Value* value = pickle.find(declared, key);
    if (!value || value->kind != Pickle::Kind::integer) bad_model(path, "its dims lack " + std::string(key));
    check_declared(path, key, value->number, actual);
  }
}

}  // namespace

Weights read_openai(std::shared_ptr<const MappedFile> file) {
  const std::string path = file->path();
  const Zip zip(path, file->bytes());
  const auto bytes = zip.find("data.pkl");
  if (!bytes) bad_model(path, "it is a zip without PyTorch's data.pkl");
  if (bytes->size() > kMaxPickle) bad_model(path, "its data.pkl is far too large for a Whisper");
  const auto order = zip.find("byteorder");
  if (order && !order->empty() && (*order)[0] != std::byte{'l'}) {
    bad_model(path, "it was saved on a big-endian machine");
  }

  const Pickle pickle(path, *bytes);
  const Pickle::Value* dims = pickle.find(pickle.root(), "dims");
  const Pickle::Value* state = pickle.find(pickle.root(), "model_state_dict");
  if (!dims || !state) {
    bad_model(path, "it is a PyTorch file, but not OpenAI's Whisper: it has no dims and model_state_dict");
  }

  ModelFiles model{path, {std::move(file)}, {}};
  for (const auto& [name, tensor] : pickle.tensors(*state)) {
    model.tensors.insert_or_assign(std::string(name), locate(path, std::string(name), tensor, zip));
  }
  Weights weights = assemble(std::move(model));
  check_dims(path, pickle, *dims, weights.dims);
  return weights;
}

}  // namespace sotto
