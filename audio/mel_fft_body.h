// The body of mel_frames_*: included once by each mel_fft*.cc, after it has defined kLanes in an anonymous namespace.
// Only raw loops here: nothing in this file may be shared between instruction sets by the linker.
//
// The DFT of 400 real points is 25 real DFTs of 16 points (k1 = 0...8, the rest is their mirror image), a turn by
// exp(-2 pi i n2 k1 / 400), and for each k1 a complex DFT of 25 = 5 * 5 points; n = 25 n1 + n2, k = k1 + 16 k2.
// About 8,000 operations a frame.

#include "audio/lanes.h"

namespace sotto {
namespace {

struct Complex {
  Lanes re, im;
};

SOTTO_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
SOTTO_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
SOTTO_INLINE Complex turn(Complex a, const float* unit) {
  return {a.re * unit[0] - a.im * unit[1], a.re * unit[1] + a.im * unit[0]};
}

template <int... index>
struct Indices {};
template <int n, int... index>
struct Counted : Counted<n - 1, n - 1, index...> {};
template <int... index>
struct Counted<0, index...> {
  using Type = Indices<index...>;
};

// a0 b0 a1 b1 ... from the halves of a and b that begin at lane `from`.
template <int from, int... index>
SOTTO_INLINE Lanes zip(Lanes a, Lanes b, Indices<index...>) {
  return __builtin_shufflevector(a, b, (from + index / 2 + index % 2 * kLanes)...);
}

// Each round moves the top bit of the row's number to the bottom of the column's; after log2(kLanes) rounds rows and
// columns have changed places.
SOTTO_INLINE void transpose(Lanes* tile) {
  using All = typename Counted<kLanes>::Type;
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
    Lanes zipped[kLanes];
#pragma GCC unroll 8
    for (int row = 0; row < kLanes / 2; ++row) {
      zipped[2 * row] = zip<0>(tile[row], tile[row + kLanes / 2], All());
      zipped[2 * row + 1] = zip<kLanes / 2>(tile[row], tile[row + kLanes / 2], All());
    }
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) tile[row] = zipped[row];
  }
}

// kLanes frames under the window, x[400], a frame in each lane; lanes past n_frames repeat the last frame.
void load_windowed(const MelTables& tables, const float* samples, int n_frames, Lanes* x) {
  for (int i = 0; i < kMelWindow; i += kLanes) {
    const Lanes window = load(tables.window + i);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int frame = lane < n_frames ? lane : n_frames - 1;
      x[i + lane] = load(samples + frame * kMelHop + i) * window;
    }
    transpose(x + i);
  }
}

// DFT of n real points, n a power of two: bins 0 to n / 2. unit[2 k step] is exp(-2 pi i k / n).
template <int n>
SOTTO_INLINE void real_dft(const Lanes* x, int stride, const float* unit, Complex* out) {
  if constexpr (n == 2) {
    out[0] = {x[0] + x[stride], Lanes{}};
    out[1] = {x[0] - x[stride], Lanes{}};
  } else {
    Complex even[n / 4 + 1], odd[n / 4 + 1];
    real_dft<n / 2>(x, 2 * stride, unit, even);
    real_dft<n / 2>(x + stride, 2 * stride, unit, odd);
    out[0] = even[0] + odd[0];
    out[n / 2] = even[0] - odd[0];
    out[n / 4] = {even[n / 4].re, -odd[n / 4].re};
#pragma GCC unroll 4
    for (int k = 1; k < n / 4; ++k) {
      const Complex turned = turn(odd[k], unit + 2 * k * (kMelWindow / n));
      const Complex mirrored = even[k] - turned;
      out[k] = even[k] + turned;
      out[n / 2 - k] = {mirrored.re, -mirrored.im};
    }
  }
}

SOTTO_INLINE void dft5(const Complex* x, int stride, Complex* out) {
  constexpr float c1 = 0.30901699437494742f, c2 = -0.80901699437494742f;  // cos of 2 pi / 5 and 4 pi / 5
  constexpr float s1 = 0.95105651629515357f, s2 = 0.58778525229247313f;   // sin of the same
  const Complex x0 = x[0], sum1 = x[stride] + x[4 * stride], sum2 = x[2 * stride] + x[3 * stride];
  const Complex difference1 = x[stride] - x[4 * stride], difference2 = x[2 * stride] - x[3 * stride];
  const Complex a1 = {x0.re + c1 * sum1.re + c2 * sum2.re, x0.im + c1 * sum1.im + c2 * sum2.im};
  const Complex a2 = {x0.re + c2 * sum1.re + c1 * sum2.re, x0.im + c2 * sum1.im + c1 * sum2.im};
  const Complex b1 = {s1 * difference1.re + s2 * difference2.re, s1 * difference1.im + s2 * difference2.im};
  const Complex b2 = {s2 * difference1.re - s1 * difference2.re, s2 * difference1.im - s1 * difference2.im};
  out[0] = x0 + sum1 + sum2;
  out[1] = {a1.re + b1.im, a1.im - b1.re};
  out[2] = {a2.re + b2.im, a2.im - b2.re};
  out[3] = {a2.re - b2.im, a2.im + b2.re};
  out[4] = {a1.re - b1.im, a1.im + b1.re};
}

// One of the nine complex DFTs of 25 points: power of the bins k1 + 16 k2 that it holds, or of their mirror images.
void power_of_column(const Complex* y, int k1, const float* unit, Lanes* power) {
  Complex z[25], out[5];  // z[j1][m2]
#pragma GCC unroll 5
  for (int m2 = 0; m2 < 5; ++m2) {
    dft5(y + m2, 5, out);
    z[m2] = out[0];
#pragma GCC unroll 4
    for (int j1 = 1; j1 < 5; ++j1) z[5 * j1 + m2] = m2 == 0 ? out[j1] : turn(out[j1], unit + 2 * 16 * m2 * j1);
  }
  for (int j1 = 0; j1 < 5; ++j1) {
    dft5(z + 5 * j1, 1, out);
    for (int j2 = 0; j2 < 5; ++j2) {
      const int k = k1 + 16 * (j1 + 5 * j2);
      const int bin = k < kMelSpectrum ? k : kMelWindow - k;
      power[bin] = out[j2].re * out[j2].re + out[j2].im * out[j2].im;
    }
  }
}

void power_spectrum(const Lanes* x, const float* unit, Lanes* power) {
  Complex y[9][25];
  for (int n2 = 0; n2 < 25; ++n2) {
    Complex column[9];
    real_dft<16>(x + n2, 25, unit, column);
    y[0][n2] = column[0];
#pragma GCC unroll 8
    for (int k1 = 1; k1 < 9; ++k1) y[k1][n2] = turn(column[k1], unit + 2 * n2 * k1);
  }
  for (int k1 = 0; k1 < 9; ++k1) power_of_column(y[k1], k1, unit, power);
}

// Positive normal numbers: log10(2^e m) = e log10(2) + 2 (s + s^3/3 + s^5/5 + s^7/7) / ln(10), s = (m - 1) / (m + 1),
// m in [sqrt(1/2), sqrt(2)). What the series leaves out is below 3e-8.
SOTTO_INLINE Lanes log10_lanes(Lanes x) {
  const IntLanes bits = reinterpret_cast<IntLanes>(x);
  const IntLanes exponent = (bits - 0x3f3504f3) >> 23;  // 0x3f3504f3: sqrt(1/2)
  const Lanes m = reinterpret_cast<Lanes>(bits - (exponent << 23));
  const Lanes s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
  const Lanes series = s * (1.0f + s2 * (1.0f / 3 + s2 * (1.0f / 5 + s2 * (1.0f / 7))));
  return __builtin_convertvector(exponent, Lanes) * 0.301029995663981195f + series * 0.868588963806503655f;
}

// Log-mel of kLanes frames, out_lanes[bins], a frame in each lane; returns each lane's maximum.
Lanes log_mel(const MelTables& tables, const Lanes* power, Lanes* out_lanes) {
  const float* weights = tables.weights;
  Lanes maximum = Lanes{} - 10.0f;
  for (int bin = 0; bin < tables.bins; ++bin) {
    Lanes sum{};
    for (int i = 0; i < tables.count[bin]; ++i) sum += power[tables.first[bin] + i] * weights[i];
    weights += tables.count[bin];
    const Lanes value = log10_lanes(sum > 1e-10f ? sum : Lanes{} + 1e-10f);
    maximum = value > maximum ? value : maximum;
    out_lanes[bin] = value;
  }
  return maximum;
}

float mel_frames(const MelTables& tables, const float* samples, int n_frames, float* out) {
  Lanes x[kMelWindow], power[kMelSpectrum], log_power[128];
  Lanes maxima = Lanes{} - 10.0f;
  for (int done = 0; done < n_frames; done += kLanes) {
    const int n = n_frames - done < kLanes ? n_frames - done : kLanes;
    load_windowed(tables, samples + done * kMelHop, n, x);
    power_spectrum(x, tables.unit, power);
    const Lanes block = log_mel(tables, power, log_power);
    maxima = block > maxima ? block : maxima;
    for (int bin = 0; bin < tables.bins; bin += kLanes) {
      transpose(log_power + bin);
      for (int frame = 0; frame < n; ++frame) store(out + (done + frame) * tables.bins + bin, log_power[bin + frame]);
    }
  }
  float maximum = maxima[0];
  for (int lane = 1; lane < kLanes; ++lane) maximum = maxima[lane] > maximum ? maxima[lane] : maximum;
  return maximum;
}

}  // namespace
}  // namespace sotto
