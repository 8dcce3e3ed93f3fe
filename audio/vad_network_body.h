// The body of vad_network_*: included once by each vad_network_*.cc, after it has defined kLanes in an anonymous
// namespace. Only raw loops here: nothing in this file may be shared between instruction sets by the linker.
//
// 0.66 million multiplications for a chunk of 32 ms. Everything before the LSTM's state is done for up to eight chunks
// at once; each layer is a matrix product over rows that may overlap, which makes a convolution of it.

#include "audio/lanes.h"

namespace sotto {
namespace {

// Rows of a layer's input or output: `per_chunk` rows `row_stride` apart for each chunk.
template <typename Float>
struct Rows {
  Float* data;
  int per_chunk, chunk_stride, row_stride;

  SOTTO_INLINE Float* row(int r) const { return data + r / per_chunk * chunk_stride + r % per_chunk * row_stride; }
};

enum class Then { nothing, relu };

// y rows [r, r + n_rows) of columns [column, column + n_vectors * kLanes).
template <int n_rows, int n_vectors, Then then>
SOTTO_INLINE void product_tile(const Rows<const float>& x, const float* w, const float* bias, int in, int out,
                               const Rows<float>& y, int r, int column) {
  Lanes sum[n_rows][n_vectors];
  const float* from[n_rows];
#pragma GCC unroll 4
  for (int i = 0; i < n_rows; ++i) {
    from[i] = x.row(r + i);
#pragma GCC unroll 4
    for (int j = 0; j < n_vectors; ++j) sum[i][j] = bias ? load(bias + column + j * kLanes) : Lanes{};
  }
  for (int k = 0; k < in; ++k) {
    const float* weights = w + k * out + column;
#pragma GCC unroll 4
    for (int i = 0; i < n_rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < n_vectors; ++j) sum[i][j] += from[i][k] * load(weights + j * kLanes);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < n_rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < n_vectors; ++j) {
      Lanes value = sum[i][j];
      if (then == Then::relu) value = value > 0.0f ? value : Lanes{};
      store(y.row(r + i) + column + j * kLanes, value);
    }
  }
}

// y = x w + bias for n_rows rows; out is a multiple of 2 kLanes, and of 4 kLanes if n_rows isn't one of 4. The columns'
// weights stay in the nearest cache for all the rows.
template <Then then>
void product(Rows<const float> x, int n_rows, const float* w, const float* bias, int in, int out, Rows<float> y) {
  const int in_fours = n_rows / 4 * 4;
  for (int column = 0; column < out && in_fours > 0; column += 2 * kLanes) {
    for (int r = 0; r < in_fours; r += 4) product_tile<4, 2, then>(x, w, bias, in, out, y, r, column);
  }
  for (int column = 0; column < out && in_fours < n_rows; column += 4 * kLanes) {
    for (int r = in_fours; r < n_rows; ++r) product_tile<1, 4, then>(x, w, bias, in, out, y, r, column);
  }
}

// exp(x) = 2^k exp(r), |r| <= ln(2) / 2, by the series to r^7: within 1e-7 of it.
SOTTO_INLINE Lanes exp_lanes(Lanes x) {
  x = x > 87.0f ? Lanes{} + 87.0f : x;
  x = x < -87.0f ? Lanes{} - 87.0f : x;
  const Lanes scaled = x * 1.44269504088896341f;
  const IntLanes k = __builtin_convertvector(scaled + (scaled < 0.0f ? Lanes{} - 0.5f : Lanes{} + 0.5f), IntLanes);
  const Lanes whole = __builtin_convertvector(k, Lanes);
  const Lanes r = x - whole * 0.693145751953125f - whole * 1.42860682030941723e-6f;  // ln(2) in two parts
  const Lanes series =
      1.0f + r * (1.0f + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
  return series * reinterpret_cast<Lanes>((k + 127) << 23);
}

SOTTO_INLINE Lanes sigmoid(Lanes x) { return 1.0f / (1.0f + exp_lanes(-x)); }
SOTTO_INLINE Lanes tanh_lanes(Lanes x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// gates [512] of one chunk: i, f, g, o. Returns the speech probability that the new state gives.
float lstm_step(const VadWeights& weights, const float* gates, float* h, float* c) {
  Lanes sum{};
  for (int i = 0; i < kVadState; i += kLanes) {
    const Lanes input = sigmoid(load(gates + i)), forget = sigmoid(load(gates + kVadState + i));
    const Lanes cell = tanh_lanes(load(gates + 2 * kVadState + i)), output = sigmoid(load(gates + 3 * kVadState + i));
    const Lanes new_c = forget * load(c + i) + input * cell;
    const Lanes new_h = output * tanh_lanes(new_c);
    store(c + i, new_c);
    store(h + i, new_h);
    sum += (new_h > 0.0f ? new_h : Lanes{}) * load(weights.last + i);
  }
  float logit = weights.last_bias;
  for (int lane = 0; lane < kLanes; ++lane) logit += sum[lane];
  return sigmoid(Lanes{} + logit)[0];
}

// spectrum [rows][2 * 144] to magnitudes.
void magnitudes(const float* spectrum, int n_rows, Rows<float> out) {
  for (int r = 0; r < n_rows; ++r, spectrum += 2 * kVadPaddedBins) {
    for (int i = 0; i < kVadPaddedBins; ++i) {
      const float re = spectrum[i], im = spectrum[kVadPaddedBins + i];
      out.row(r)[i] = __builtin_sqrtf(re * re + im * im);
    }
  }
}

// Arrays that a convolution pads hold a row of zeros before each chunk's rows (and one after, where it is read).
void vad_network(const VadWeights& weights, const float* input, int n, float* h, float* c, float* probabilities) {
  constexpr int kBins = kVadPaddedBins, kGates = 4 * kVadState;
  float spectrum[kVadBatch * 4 * 2 * kBins];
  float magnitude[kVadBatch * 6 * kBins] = {};
  float conv1[kVadBatch * 6 * 128] = {};
  float conv2[kVadBatch * 2 * 64], conv3[kVadBatch * 64], conv4[kVadBatch * 128];
  float gates[kVadBatch * kGates], with_state[kGates];

  product<Then::nothing>({input, 4, kVadInput, 128}, 4 * n, weights.stft, nullptr, 256, 2 * kBins,
                         {spectrum, 1, 2 * kBins, 0});
  magnitudes(spectrum, 4 * n, {magnitude + kBins, 4, 6 * kBins, kBins});
  product<Then::relu>({magnitude, 4, 6 * kBins, kBins}, 4 * n, weights.conv1, weights.conv1_bias, 3 * kBins, 128,
                      {conv1 + 128, 4, 6 * 128, 128});
  product<Then::relu>({conv1, 2, 6 * 128, 2 * 128}, 2 * n, weights.conv2, weights.conv2_bias, 3 * 128, 64,
                      {conv2, 1, 64, 0});
  product<Then::relu>({conv2, 1, 2 * 64, 0}, n, weights.conv3, weights.conv3_bias, 2 * 64, 64, {conv3, 1, 64, 0});
  product<Then::relu>({conv3, 1, 64, 0}, n, weights.conv4, weights.conv4_bias, 64, 128, {conv4, 1, 128, 0});
  product<Then::nothing>({conv4, 1, 128, 0}, n, weights.lstm_input, weights.lstm_bias, 128, kGates,
                         {gates, 1, kGates, 0});
  for (int chunk = 0; chunk < n; ++chunk) {
    product<Then::nothing>({h, 1, 0, 0}, 1, weights.lstm_state, gates + chunk * kGates, kVadState, kGates,
                           {with_state, 1, 0, 0});
    probabilities[chunk] = lstm_step(weights, with_state, h, c);
  }
}

}  // namespace
}  // namespace sotto
