// The encoder's list of launches from end to end against the plain network: the encoder's output and the decoder's
// cross-attention keys and values.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "audio/decode.h"
#include "audio/features.h"
#include "cuda/encoder_model.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/tile_table.h"
#include "kernels/reference/encoder.h"
#include "kernels/reference/ops.h"
#include "test_models.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

struct Encoded {
  std::vector<float> output;           // [windows][1500][width]
  std::vector<float> keys, values;     // [windows][decoder layers][1500][width]
};

template <class T>
Encoded run(const EncoderModel<T>& model, const std::vector<float>& mels, int windows, int sms) {
  const Dims& dims = model.dims;
  const int64_t width = dims.width, layers = dims.decoder_layers, cross = layers * dims.heads * kHeadSize;
  DeviceArray<std::byte> scratch(encoder_buffers_bytes(dims, windows));
  scratch.fill(0);
  const EncoderBuffers buffers = encoder_buffers(dims, windows, scratch.data());
  std::vector<int32_t> slots;
  for (int window = 0; window < windows; window++) slots.push_back(windows - window);  // slot 0 stays free
  const DeviceArray<int32_t> slots_there(slots);
  const DeviceArray<float> mels_there(mels);
  DeviceArray<T> cross_k((windows + 1) * cross), cross_v((windows + 1) * cross);

  const EncodeTask task = {dims,           kHalf<T>,           sms,            windows,
                           mels_there.data(), slots_there.data(), cross_k.data(), cross_v.data(), model.bytes};
  for (const Launch& next : encode_launches(task, model.device, buffers)) {
    device().launch_bytes(next.kernel.c_str(), next.shape, next.args.data());
  }

  Encoded encoded;
  std::vector<T> y(windows * kRows * width);
  device().copy_to_host(y.data(), reinterpret_cast<DevicePointer>(buffers.y), y.size() * sizeof(T));
  device().synchronize();
  const std::vector<T> k = cross_k.host(), v = cross_v.host();
  for (int window = 0; window < windows; window++) {
    const std::vector<float> rows = floats_of(std::span<const T>(y).subspan(window * kRows * width, kAudioContext * width));
    encoded.output.insert(encoded.output.end(), rows.begin(), rows.end());
    for (int64_t layer = 0; layer < layers; layer++) {
      for (int t = 0; t < kAudioContext; t++) {
        for (int64_t c = 0; c < width; c++) {
          const int64_t at = (slots[window] * layers + layer) * dims.heads * kHeadSize + c / kHead * kHeadSize + t * kHead +
                             ((c % kHead / 8) ^ (t & 7)) * 8 + c % 8;
          encoded.keys.push_back(to_float(k[at]));
          encoded.values.push_back(to_float(v[at]));
        }
      }
    }
  }
  return encoded;
}

template <class T>
Encoded plain(const EncoderModel<T>& model, const std::vector<float>& mels, int windows) {
  const Dims& dims = model.dims;
  const int64_t width = dims.width;
  Team& team = const_cast<Team&>(model.team);
  reference::Encoder encoder(model.plain, team);
  Encoded encoded;
  for (int window = 0; window < windows; window++) {
    std::vector<float> y(kAudioContext * width), kv(2 * y.size());
    encoder.run(mels.data() + int64_t{window} * kMelFrames * dims.mel_bins, y.data());
    encoded.output.insert(encoded.output.end(), y.begin(), y.end());
    for (const reference::DecoderLayer& layer : model.plain.decoder) {
      reference::product(team, layer.cross_kv, y.data(), width, kAudioContext, reference::Then::store, kv.data());
      for (int t = 0; t < kAudioContext; t++) {
        const float* row = kv.data() + t * 2 * width;
        encoded.keys.insert(encoded.keys.end(), row, row + width);
        encoded.values.insert(encoded.values.end(), row + width, row + 2 * width);
      }
    }
  }
  return encoded;
}

// Each product's operands are rounded once, by 2^-12 (bf16: 2^-9) of their size on average; errors of layers add up at
// random in the residual stream, which is f32: sqrt(6 layers) of some four of them. An operation left out or misplaced
// shows as 1e-1.
template <class T>
constexpr double kBound = kSame<T, f16> ? 3e-3 : 2.4e-2;

// Bytes: of 128 values, the largest of which stands for 127, one is off by 0.6 % on average, in both operands of six
// products in a row: 2 % in one layer.
constexpr double kBytesBound = 3e-2;

template <class T>
void check(const EncoderModel<T>& model, const std::vector<float>& mels, int windows) {
  const double bound = model.bytes ? kBytesBound : kBound<T>;
  const Encoded got = run(model, mels, windows, 108), expected = plain(model, mels, windows);
  const double output = relative_error(got.output, expected.output), keys = relative_error(got.keys, expected.keys),
               values = relative_error(got.values, expected.values);
  MESSAGE("relative error of the output " << output << ", keys " << keys << ", values " << values);
  CHECK(output < bound);
  CHECK(keys < bound);
  CHECK(values < bound);
}

}  // namespace

TEST_CASE("encode: a small model's output and cross keys and values are the plain network's") {
  const EncoderModel<f16> model({384, 6, 1, 2, 80, 64});
  one_schedule([&] { check(model, random_halves<f16>(int64_t{kMelFrames} * 80, 11, 0.5f), 1); });
}

TEST_CASE("encode: products of bytes") {
  const EncoderModel<f16> model({384, 6, 1, 1, 80, 64}, true);
  one_schedule([&] { check(model, random_halves<f16>(int64_t{kMelFrames} * 80, 11, 0.5f), 1); });
}

TEST_CASE("full: encode: two windows in company give what each gives alone, whatever the tiles") {
  const EncoderModel<bf16> model({384, 6, 2, 1, 128, 64});
  const std::vector<float> mels = random_halves<bf16>(int64_t{2} * kMelFrames * 128, 12, 0.5f);
  check(model, mels, 2);
  const Encoded both = run(model, mels, 2, 108);
  const std::vector<float> second(mels.begin() + mels.size() / 2, mels.end());
  const Encoded alone = run(model, second, 1, 170);
  CHECK(alone.output == std::vector<float>(both.output.begin() + both.output.size() / 2, both.output.end()));
  CHECK(alone.values == std::vector<float>(both.values.begin() + both.values.size() / 2, both.values.end()));
}

TEST_CASE("full: encode: the whole of tiny.en on speech") {
  const std::optional<std::string> path = test_model("tiny.en");
  const std::string speech = std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-0930.wav";
  if (!path || !std::filesystem::exists(speech)) {
    MESSAGE("skipped: the weights of tiny.en or the speech in " << kTestSpeech << " are not here");
    return;
  }
  Decoder decoder(speech, {});
  Features features(decoder, 80);
  Mel mel;
  features.window(0, features.available(0, kMelFrames), mel);
  for (const bool bytes : {false, true}) {
    INFO((bytes ? "bytes" : "f16"));
    const EncoderModel<f16> model(open_weights(*path), bytes);
    one_schedule([&] { check(model, mel.values, 1); });
  }
}

TEST_CASE("encode: every chip, width and number of windows has its tiles") {
  for (const int sms : {1, 46, 58, 84, 108, 114, 132, 142, 160, 188, 300}) {
    for (const int width : {384, 512, 768, 1024, 1280}) {
      int windows_before = 0;
      for (const int windows : {1, 2, 3, 4, 5, 8, 16, 64}) {
        const EncoderTiles& tiles = encoder_tiles(sms, width, windows);
        CHECK(tiles.width == width);
        CHECK(tiles.windows <= windows);
        CHECK(tiles.windows >= windows_before);
        CHECK((tiles.queries == 64 || tiles.queries == 128));
        for (const int tile : {tiles.conv1, tiles.x, tiles.qkv, tiles.fc1}) CHECK((tile >= 0 && tile < kTileCount));
        CHECK(tiles.conv1 != kWideTile);
        if (width == 384) CHECK((tiles.x != kWideTile && tiles.qkv != kWideTile && tiles.fc1 != kWideTile));
        windows_before = tiles.windows;
      }
    }
  }
}
