#include "audio/vad_weights.h"

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "models/error.h"
#include "models/mapped_file.h"

namespace sotto {

namespace {

static_assert(std::endian::native == std::endian::little, "the tensors are read as they lie");

using Bytes = std::span<const std::byte>;
struct Malformed {};

// The fields of a protobuf message, one after the other.
class Message {
 public:
  struct Field {
    uint64_t number;
    uint64_t value = 0;  // of a varint
    Bytes bytes;         // of a string, a message or packed numbers
  };

  explicit Message(Bytes rest) : rest_(rest) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t key = varint();
    Field field{.number = key >> 3};
    switch (key & 7) {
      case 0: field.value = varint(); break;
      case 1: take(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5: take(4); break;
      default: throw Malformed();
    }
    return field;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(take(1)[0]);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw Malformed();
  }
  Bytes take(uint64_t size) {
    if (size > rest_.size()) throw Malformed();
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  Bytes rest_;
};

struct Tensor {
  std::vector<uint64_t> shape;
  uint64_t type = 0;
  Bytes raw;
};

// The tensors that an ONNX file holds with their bytes, by name: ModelProto.graph (7), GraphProto.initializer (5),
// TensorProto.dims, data_type, name and raw_data (1, 2, 8, 9) of onnx.proto.
class OnnxTensors {
 public:
  explicit OnnxTensors(const std::string& path) : file_(MappedFile::open(path)) {
    try {
      read();
    } catch (const Malformed&) {
      fail();
    }
  }

  // The f32 tensor of that name and shape.
  std::vector<float> tensor(const std::string& name, const std::vector<uint64_t>& shape) const {
    constexpr uint64_t kFloat = 1;
    const auto found = tensors_.find("model." + name);
    if (found == tensors_.end() || found->second.shape != shape || found->second.type != kFloat) fail();
    size_t size = 1;
    for (const uint64_t n : shape) size *= n;
    const Bytes raw = found->second.raw;
    if (raw.size() != size * sizeof(float)) fail();
    std::vector<float> values(size);
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }

 private:
  void read() {
    for (Message model(file_->bytes()); const auto of_model = model.next();) {
      if (of_model->number != 7) continue;
      for (Message graph(of_model->bytes); const auto of_graph = graph.next();) {
        if (of_graph->number == 5) read_tensor(of_graph->bytes);
      }
    }
  }
  void read_tensor(Bytes bytes) {
    std::string name;
    Tensor tensor;
    for (Message message(bytes); const auto field = message.next();) {
      if (field->number == 1) tensor.shape.push_back(field->value);
      if (field->number == 2) tensor.type = field->value;
      if (field->number == 8) name.assign(reinterpret_cast<const char*>(field->bytes.data()), field->bytes.size());
      if (field->number == 9) tensor.raw = field->bytes;
    }
    tensors_[name] = std::move(tensor);
  }
  [[noreturn]] void fail() const {
    throw Error(file_->path() + " is not the voice activity model silero_vad_16k_op15.onnx; fetch it again by "
                "\"sotto models remove vad\" and \"sotto models fetch vad\"");
  }

  const std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Tensor> tensors_;
};

// [out][in][3 taps] to [taps first_tap .. last_tap][padded_in][out].
std::vector<float> convolution(const std::vector<float>& from, int out, int in, int padded_in, int first_tap,
                               int last_tap) {
  std::vector<float> to((last_tap - first_tap + 1) * padded_in * out);
  for (int tap = first_tap; tap <= last_tap; ++tap) {
    for (int i = 0; i < in; ++i) {
      for (int o = 0; o < out; ++o) to[((tap - first_tap) * padded_in + i) * out + o] = from[(o * in + i) * 3 + tap];
    }
  }
  return to;
}

// [rows][cols] to [cols][rows].
std::vector<float> transposed(const std::vector<float>& from, int rows, int cols) {
  std::vector<float> to(from.size());
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) to[col * rows + row] = from[row * cols + col];
  }
  return to;
}

}  // namespace

VadParameters::VadParameters(const std::string& path) {
  const OnnxTensors file(path);
  const std::vector<float> stft = file.tensor("stft.forward_basis_buffer", {2 * kVadBins, 1, 256});
  stft_.resize(256 * 2 * kVadPaddedBins);
  for (int row = 0; row < 2 * kVadBins; ++row) {
    const int column = row < kVadBins ? row : row - kVadBins + kVadPaddedBins;
    for (int i = 0; i < 256; ++i) stft_[i * 2 * kVadPaddedBins + column] = stft[row * 256 + i];
  }
  const auto conv = [&file](int layer, uint64_t out, uint64_t in, int padded_in, int first_tap, int last_tap) {
    const auto weight = file.tensor("encoder." + std::to_string(layer) + ".reparam_conv.weight", {out, in, 3});
    return convolution(weight, out, in, padded_in, first_tap, last_tap);
  };
  conv1_ = conv(0, 128, kVadBins, kVadPaddedBins, 0, 2);
  conv2_ = conv(1, 64, 128, 128, 0, 2);
  conv3_ = conv(2, 64, 64, 64, 1, 2);
  conv4_ = conv(3, 128, 64, 64, 1, 1);
  conv1_bias_ = file.tensor("encoder.0.reparam_conv.bias", {128});
  conv2_bias_ = file.tensor("encoder.1.reparam_conv.bias", {64});
  conv3_bias_ = file.tensor("encoder.2.reparam_conv.bias", {64});
  conv4_bias_ = file.tensor("encoder.3.reparam_conv.bias", {128});
  lstm_input_ = transposed(file.tensor("decoder.rnn.weight_ih", {4 * kVadState, 128}), 4 * kVadState, 128);
  lstm_state_ = transposed(file.tensor("decoder.rnn.weight_hh", {4 * kVadState, kVadState}), 4 * kVadState, kVadState);
  lstm_bias_ = file.tensor("decoder.rnn.bias_ih", {4 * kVadState});
  const std::vector<float> state_bias = file.tensor("decoder.rnn.bias_hh", {4 * kVadState});
  for (int i = 0; i < 4 * kVadState; ++i) lstm_bias_[i] += state_bias[i];
  last_ = file.tensor("decoder.decoder.2.weight", {1, kVadState, 1});
  last_bias_ = file.tensor("decoder.decoder.2.bias", {1})[0];
}

VadWeights VadParameters::view() const {
  return {stft_.data(),       conv1_.data(),     conv1_bias_.data(), conv2_.data(),      conv2_bias_.data(),
          conv3_.data(),      conv3_bias_.data(), conv4_.data(),     conv4_bias_.data(), lstm_input_.data(),
          lstm_bias_.data(),  lstm_state_.data(), last_.data(),      last_bias_};
}

}  // namespace sotto
