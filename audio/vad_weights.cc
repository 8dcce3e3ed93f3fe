#include "audio/vad_weights.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "models/error.h"

namespace sotto {

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors are read as they lie");

// A safetensors file: u64 length of a JSON header, the header, the tensors' bytes.
class Safetensors {
 public:
  explicit Safetensors(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error("can't open the voice activity model " + path + "; check the path, or fetch it again");
    constexpr size_t kAtMost = 16 << 20;
    bytes_.resize(kAtMost);
    file.read(bytes_.data(), kAtMost);
    bytes_.resize(file.gcount());
    uint64_t header_size = 0;
    if (bytes_.size() < sizeof(header_size)) fail();
    std::memcpy(&header_size, bytes_.data(), sizeof(header_size));
    if (header_size > bytes_.size() - sizeof(header_size)) fail();
    data_ = sizeof(header_size) + header_size;
    header_ = json::parse(bytes_.begin() + sizeof(header_size), bytes_.begin() + data_, nullptr, false);
    if (!header_.is_object()) fail();
  }

  // The f32 tensor of that name and shape.
  std::vector<float> tensor(const char* name, const std::vector<size_t>& shape) const {
    size_t size = 1;
    for (size_t n : shape) size *= n;
    const auto entry = header_.find(name);
    if (entry == header_.end() || !entry->is_object() || entry->value("dtype", json()) != json("F32")) fail();
    if (entry->value("shape", json()) != json(shape)) fail();
    const json offsets = entry->value("data_offsets", json());
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail();
    }
    const size_t begin = offsets[0].get<size_t>(), end = offsets[1].get<size_t>();
    if (end < begin || end > bytes_.size() - data_ || end - begin != size * sizeof(float)) fail();
    std::vector<float> values(size);
    std::memcpy(values.data(), bytes_.data() + data_ + begin, end - begin);
    return values;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(path_ + " is not the voice activity model silero_vad_16k.safetensors; fetch it again");
  }

  const std::string path_;
  std::vector<char> bytes_;
  size_t data_;
  json header_;
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
  const Safetensors file(path);
  const std::vector<float> stft = file.tensor("stft_conv.weight", {2 * kVadBins, 1, 256});
  stft_.resize(256 * 2 * kVadPaddedBins);
  for (int row = 0; row < 2 * kVadBins; ++row) {
    const int column = row < kVadBins ? row : row - kVadBins + kVadPaddedBins;
    for (int i = 0; i < 256; ++i) stft_[i * 2 * kVadPaddedBins + column] = stft[row * 256 + i];
  }
  conv1_ = convolution(file.tensor("conv1.weight", {128, kVadBins, 3}), 128, kVadBins, kVadPaddedBins, 0, 2);
  conv2_ = convolution(file.tensor("conv2.weight", {64, 128, 3}), 64, 128, 128, 0, 2);
  conv3_ = convolution(file.tensor("conv3.weight", {64, 64, 3}), 64, 64, 64, 1, 2);
  conv4_ = convolution(file.tensor("conv4.weight", {128, 64, 3}), 128, 64, 64, 1, 1);
  conv1_bias_ = file.tensor("conv1.bias", {128});
  conv2_bias_ = file.tensor("conv2.bias", {64});
  conv3_bias_ = file.tensor("conv3.bias", {64});
  conv4_bias_ = file.tensor("conv4.bias", {128});
  lstm_input_ = transposed(file.tensor("lstm_cell.weight_ih", {4 * kVadState, 128}), 4 * kVadState, 128);
  lstm_state_ = transposed(file.tensor("lstm_cell.weight_hh", {4 * kVadState, kVadState}), 4 * kVadState, kVadState);
  lstm_bias_ = file.tensor("lstm_cell.bias_ih", {4 * kVadState});
  const std::vector<float> state_bias = file.tensor("lstm_cell.bias_hh", {4 * kVadState});
  for (int i = 0; i < 4 * kVadState; ++i) lstm_bias_[i] += state_bias[i];
  last_ = file.tensor("final_conv.weight", {1, kVadState, 1});
  last_bias_ = file.tensor("final_conv.bias", {1})[0];
}

VadWeights VadParameters::view() const {
  return {stft_.data(),       conv1_.data(),     conv1_bias_.data(), conv2_.data(),      conv2_bias_.data(),
          conv3_.data(),      conv3_bias_.data(), conv4_.data(),     conv4_bias_.data(), lstm_input_.data(),
          lstm_bias_.data(),  lstm_state_.data(), last_.data(),      last_bias_};
}

}  // namespace sotto
