// Every product of the encoder against the plain network's, at every width, tile and type.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cuda/encoder_model.h"
#include "kernels/reference/ops.h"

using namespace sotto;
using namespace sotto::cuda;
using namespace sotto::test;

namespace {

constexpr Product kProducts[] = {Product::conv1, Product::conv2, Product::qkv,     Product::out,
                                 Product::fc1,   Product::fc2,   Product::cross_kv};

// All operands are values that T holds, so what remains is the order of f32 sums, sqrt(k) 2^-24 = 4e-6 of them, and,
// where y is T, one rounding of it: 2^-8 of a value at most for bf16 and 2^-11 for f16, less than half of that on average.
template <class T>
double bound(Product product) {
  if (writes_x(product)) return 5e-6;
  return kSame<T, f16> ? 0x1p-12 : 0x1p-9;
}

// The last one that was asked for is kept: large ones are half a GB.
template <class T>
std::shared_ptr<const EncoderModel<T>> model_of(int width, int bins) {
  static std::shared_ptr<const EncoderModel<T>> kept;
  if (!kept || kept->dims.width != width || kept->dims.mel_bins != bins) {
    kept = nullptr;
    kept = std::make_shared<EncoderModel<T>>(Dims{width, width / kHead, 1, 2, bins, 64});
  }
  return kept;
}

// One product of m rows (of one window, or more) and the first n columns.
template <class T>
struct Case {
  Product product;
  int width, bins, m, n;
  std::shared_ptr<const EncoderModel<T>> kept;
  const EncoderModel<T>& model;
  std::vector<float> a;      // m rows, as the kernel is given it
  std::vector<float> before;  // x
  static constexpr int kSlots = 3;
  std::vector<int32_t> slots = {2, 0};

  Case(Product product, int width, int bins, int m, int n)
      : product(product), width(width), bins(bins), m(m), n(n), kept(model_of<T>(width, bins)), model(*kept) {
    const int64_t size = int64_t{m - 1} * product_lda(product, width, bins) + product_k(product, width, bins);
    a = random_halves<T>(size, 77);
    if (writes_x(product)) before = random_halves<T>(int64_t{m} * width, 78);
  }

  // [m][n] before it is put anywhere.
  std::vector<float> expected() const {
    const reference::EncoderLayer& layer = model.plain.encoder[0];
    const auto plain = [&](const reference::Matrix& matrix, reference::Then then) {
      std::vector<float> y(int64_t{m} * matrix.n);
      if (then == reference::Then::add) y = before;
      reference::product(const_cast<Team&>(model.team), matrix, a.data(), product_lda(product, width, bins), m, then,
                         y.data());
      return y;
    };
    using reference::Then;
    switch (product) {
      case Product::conv1: return plain(model.plain.conv1, Then::gelu);
      case Product::conv2: {
        std::vector<float> y = plain(model.plain.conv2, Then::gelu);
        for (int i = 0; i < m; i++) {
          for (int c = 0; c < width && i % kRows < kAudioContext; c++) {
            y[int64_t{i} * width + c] += model.plain.encoder_positions[i % kRows * width + c];
          }
        }
        return y;
      }
      case Product::qkv: {
        std::vector<float> y = plain(layer.qkv, Then::store);
        for (size_t i = 0; i < y.size(); i++) {
          if (int(i % (3 * width)) < width) y[i] *= kQueryScale / 0.125f;  // the plain network's has 1/8 in its weights
        }
        return y;
      }
      case Product::out: return plain(layer.out, Then::add);
      case Product::fc1: return plain(layer.fc1, Then::gelu);
      case Product::fc2: return plain(layer.fc2, Then::add);
      case Product::cross_kv: {
        const std::vector<float> first = plain(model.plain.decoder[0].cross_kv, Then::store);
        const std::vector<float> second = plain(model.plain.decoder[1].cross_kv, Then::store);
        std::vector<float> y;
        for (int i = 0; i < m; i++) {
          for (const auto* layer_y : {&first, &second}) {
            y.insert(y.end(), layer_y->begin() + int64_t{i} * 2 * width, layer_y->begin() + int64_t{i + 1} * 2 * width);
          }
        }
        return y;
      }
    }
    return {};
  }

  const ProductWeights& weights() const {
    const EncoderLayerWeights& layer = model.device.layers[0];
    switch (product) {
      case Product::conv1: return model.device.conv1;
      case Product::conv2: return model.device.conv2;
      case Product::qkv: return layer.qkv;
      case Product::out: return layer.out;
      case Product::fc1: return layer.fc1;
      case Product::fc2: return layer.fc2;
      case Product::cross_kv: return model.device.cross_kv;
    }
    return layer.out;
  }

  int whole_n() const { return product_n(product, width, 2); }
  int windows() const { return static_cast<int>(ceil_div(m, product == Product::conv1 ? kFrameRows : kRows)); }

  // Elements of `to`, and where y[row][column] goes; -1: nowhere.
  int64_t size() const {
    switch (product) {
      case Product::conv1: return int64_t{m + 1} * width;
      case Product::qkv: return int64_t{windows()} * 3 * width * kRows;
      case Product::cross_kv: return int64_t{kSlots} * 2 * width * kRows;  // of cross_k, and of cross_v
      default: return int64_t{m} * whole_n();
    }
  }
  int64_t place(int row, int column) const {
    const int window = row / kRows, t = row % kRows;
    switch (product) {
      case Product::conv1: return row % kFrameRows < kMelFrames ? int64_t{row + 1} * width + column : -1;
      case Product::qkv: {
        const int at = column < 2 * width ? column : mma_column(column, 8);
        return (int64_t{window} * 3 * width / kHead + at / kHead) * kHeadSize + t * kHead + at % kHead;
      }
      case Product::cross_kv: {
        if (t >= kAudioContext) return -1;
        const int layer = column / (2 * width), head = column % width / kHead, chunk = column % kHead / 8;
        return ((int64_t{slots[window]} * 2 + layer) * (width / kHead) + head) * kHeadSize + t * kHead +
               (chunk ^ (t & 7)) * 8 + column % 8;
      }
      default: return int64_t{row} * whole_n() + column;
    }
  }

  std::string kernel(int tile) const { return product_kernel(product, width, bins, kHalf<T>, tile); }
  LaunchShape shape(int tile) const {
    LaunchShape shape = product_shape(product, width, 2, m, tile);
    shape.grid_x = static_cast<uint32_t>(n / kTiles[tile].n);
    return shape;
  }

  // Launches with `tile` and gives what y [m][n] became; fails where anything else was written.
  std::vector<float> run(int tile) const {
    const DeviceArray<T> a_half(narrowed<T>(a));
    const DeviceArray<int32_t> slots_there(slots);
    if (writes_x(product)) {
      DeviceArray<float> x(before);
      start(tile, a_half.data(), x.data(), nullptr, slots_there.data());
      return picked(x.host(), {});
    }
    DeviceArray<T> to(size()), more(product == Product::cross_kv ? size() : 1);
    start(tile, a_half.data(), to.data(), more.data(), slots_there.data());
    return picked(to.host(), more.host());
  }

  void start(int tile, const void* a_there, void* to, void* more, const int32_t* slots_there) const {
    const ProductWeights& w = weights();
    launch(kernel(tile).c_str(), shape(tile),
           ProductArgs{a_there, w.w, w.bias, to, m, model.device.positions, more, slots_there, 2});
  }

  template <class U>
  std::vector<float> picked(std::vector<U> to, std::vector<U> more) const {
    std::vector<float> y;
    for (int row = 0; row < m; row++) {
      for (int column = 0; column < n; column++) {
        const int64_t at = place(row, column);
        if (at < 0) continue;
        std::vector<U>& from = product == Product::cross_kv && column / width % 2 ? more : to;
        if constexpr (kSame<U, float>) {
          y.push_back(from[at]);
        } else {
          y.push_back(to_float(from[at]));
          from[at].bits = 0xffff;
        }
      }
    }
    if constexpr (!kSame<U, float>) {
      const auto untouched = [](const U& value) { return value.bits == 0xffff; };
      CHECK(std::all_of(to.begin(), to.end(), untouched));
      CHECK(std::all_of(more.begin(), more.end(), untouched));
    }
    return y;
  }

  std::vector<float> expected_there() const {
    const std::vector<float> whole = expected();
    std::vector<float> y;
    for (int row = 0; row < m; row++) {
      for (int column = 0; column < n; column++) {
        if (place(row, column) >= 0) y.push_back(whole[int64_t{row} * whole_n() + column]);
      }
    }
    return y;
  }
};

template <class T>
void check(Product product, int width, int bins, int m, int n, int tile) {
  const Case<T> c(product, width, bins, m, n);
  INFO(c.kernel(tile) << ", " << m << " rows, " << n << " columns");
  CHECK(relative_error(c.run(tile), c.expected_there()) < bound<T>(product));
}

template <class T>
void check_all_schedules(Product product, int width, int bins, int m, int n, int tile) {
  const Case<T> c(product, width, bins, m, n);
  const std::vector<float> expected = c.expected_there();
  INFO(c.kernel(tile) << ", " << m << " rows, " << n << " columns");
  for_each_schedule([&] { CHECK(relative_error(c.run(tile), expected) < bound<T>(product)); });
}

// The tiles of a product are the first ones: cross_kv has one, the widest is for multiples of 256.
int tiles_of(Product product, int width) {
  return product == Product::cross_kv ? 1 : width == 384 || product == Product::conv1 ? kWideTile : kTileCount;
}

// As few columns as have all that the epilogue distinguishes.
int enough_columns(Product product, int width) {
  return product == Product::qkv ? 3 * width : product == Product::cross_kv ? 4 * width : 256;
}

}  // namespace

TEST_CASE("products: every one, all schedules, rows that end inside a tile") {
  for (const Product product : kProducts) {
    for (int tile = 0; tile < tiles_of(product, 384); tile++) {
      check_all_schedules<f16>(product, 384, 80, kTiles[tile].m + 5, 128, tile);
    }
  }
  for (const Product product : {Product::qkv, Product::fc2}) {
    if (!has_width(512)) continue;
    check_all_schedules<f16>(product, 512, 80, 133, 256, kWideTile);
  }
}

TEST_CASE("products: every width, both types, both numbers of mel bins") {
  int tile = 0;
  for (const int width : widths()) {
    for (const Product product : kProducts) {
      const int m = 70, n = enough_columns(product, width);
      check<f16>(product, width, 80, m, n, tile % tiles_of(product, width));
      check<bf16>(product, width, 128, m, n, ++tile % tiles_of(product, width));
    }
  }
}

TEST_CASE("products: rows of several windows go where each belongs") {
  for (const Product product : {Product::conv1, Product::conv2, Product::qkv, Product::cross_kv}) {
    const int m = product == Product::conv1 ? kFrameRows + 70 : kRows + 70;
    check<f16>(product, 384, 80, m, product == Product::cross_kv ? 512 : 128, 0);
  }
}

TEST_CASE("products: a row's sums depend neither on the tile nor on other rows") {
  const Case<f16> few(Product::fc2, 384, 80, 40, 128), many(Product::fc2, 384, 80, 300, 128);
  const std::vector<float> one = few.run(2);
  for (int tile = 0; tile < kWideTile; tile++) {
    std::vector<float> all = many.run(tile);
    all.resize(one.size());
    CHECK(all == one);
  }
}

TEST_CASE("products: what they move and multiply is what their header says") {
  if (on_hardware() || !has_width(512)) return;
  for (const Product product : kProducts) {
    for (int tile = 0; tile < tiles_of(product, 512); tile++) {
      const Case<f16> c(product, 512, 80, 128, 256);
      INFO(c.kernel(tile));
      const simt::Counters counted = count([&] { c.run(tile); });
      const int64_t k = product_k(product, 512, 80), blocks = 128 / kTiles[tile].m * (256 / kTiles[tile].n);
      CHECK(counted.mma_operations == 2 * 128 * 256 * k);
      CHECK(counted.shared_wavefronts == counted.shared_wavefronts_ideal);
      CHECK(counted.sectors_read == counted.sectors_read_ideal);
      CHECK(counted.sectors_written == counted.sectors_written_ideal);
      CHECK(counted.global_written == 128 * 256 * (writes_x(product) ? 4 : 2));
      const int64_t copied = blocks * (kTiles[tile].m + kTiles[tile].n) * k * 2;
      CHECK(counted.global_read >= copied);  // and biases, and what the residual stream holds
      CHECK(counted.global_read <= copied + counted.global_written + blocks * kTiles[tile].n * 4 * 8 * 4);
    }
  }
}

TEST_CASE("full: products: every width, tile and type at a whole window, and at two") {
  for (const int width : widths()) {
    for (const Product product : kProducts) {
      for (int tile = 0; tile < tiles_of(product, width); tile++) {
        const int m = product_m(product, width == 384 ? 2 : 1);
        const int n = enough_columns(product, width);
        check<f16>(product, width, 80, m, n, tile);
        check<bf16>(product, width, 128, m, n, tile);
      }
    }
  }
  for (const int width : widths()) {  // the other numbers of mel bins, which only conv1 looks at
    for (int tile = 0; tile < tiles_of(Product::conv1, width); tile++) {
      check<f16>(Product::conv1, width, 128, product_m(Product::conv1, 1), 256, tile);
      check<bf16>(Product::conv1, width, 80, product_m(Product::conv1, 1), 256, tile);
    }
  }
}
