// The loops themselves, for the includer's vectors: kLanes floats in one, kVectors of them and kTileRows rows in the
// registers at once. Included by loops_<isa>.cc only, inside its anonymous namespace: no two instruction sets may share
// a function, so nothing here may come from the standard library.

typedef float Vec __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(kLanes * 4)));
typedef uint32_t BitsVec __attribute__((vector_size(kLanes * 4)));

constexpr int kPanel = kLanes * kVectors;

inline Vec load(const float* from) { return *reinterpret_cast<const Vec*>(from); }
inline void store(float* to, Vec value) { *reinterpret_cast<Vec*>(to) = value; }
inline Vec all(float value) { return value - Vec{}; }

template <int kRows>
void multiply_tile(const float* a, int64_t lda, const float* b, int64_t ldb, const float* start, float* c, int64_t ldc,
                   int k) {
  Vec sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; j++) sum[i][j] = start ? load(start + j * kLanes) : Vec{};
  }
  for (int p = 0; p < k; p++) {
    Vec column[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; j++) column[j] = load(b + p * ldb + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; j++) sum[i][j] += a[i * lda + p] * column[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; j++) store(c + i * ldc + j * kLanes, sum[i][j]);
  }
}

void multiply(const float* a, int64_t lda, const float* b, int64_t ldb, const float* start, float* c, int64_t ldc,
              int m, int k) {
  static_assert(kTileRows == 6);
  for (; m >= 6; m -= 6, a += 6 * lda, c += 6 * ldc) multiply_tile<6>(a, lda, b, ldb, start, c, ldc, k);
  if (m == 5) multiply_tile<5>(a, lda, b, ldb, start, c, ldc, k);
  if (m == 4) multiply_tile<4>(a, lda, b, ldb, start, c, ldc, k);
  if (m == 3) multiply_tile<3>(a, lda, b, ldb, start, c, ldc, k);
  if (m == 2) multiply_tile<2>(a, lda, b, ldb, start, c, ldc, k);
  if (m == 1) multiply_tile<1>(a, lda, b, ldb, start, c, ldc, k);
}

// e^x within 2e-7 of its value for x <= 0; 0 below -87. e^x = 2^n * e^r with n = round(x log2 e), |r| <= ln 2 / 2,
// where ln 2 is taken off in two parts, the first with few bits; e^r by its Taylor series to r^7 (the next is 1e-8).
inline Vec exp_negative(Vec x) {
  const IntVec tiny = x < all(-87.0f);
  const Vec rounded = x * all(1.44269504f) + all(12582912.0f);  // 1.5 * 2^23: the sum's low bits are the integer
  const Vec n = rounded - all(12582912.0f);
  const Vec r = (x - n * all(0.693359375f)) - n * all(-2.12194440e-4f);
  Vec e = all(1.0f / 5040);
  e = e * r + all(1.0f / 720);
  e = e * r + all(1.0f / 120);
  e = e * r + all(1.0f / 24);
  e = e * r + all(1.0f / 6);
  e = e * r + all(0.5f);
  e = e * r + all(1.0f);
  e = e * r + all(1.0f);
  const BitsVec power = (reinterpret_cast<BitsVec>(rounded) << 23) + reinterpret_cast<BitsVec>(e);  // wraps round below 0
  return reinterpret_cast<Vec>(power & ~reinterpret_cast<BitsVec>(tiny));
}

inline float sum_lanes(Vec v) {
  float sum = 0;
  for (int i = 0; i < kLanes; i++) sum += v[i];
  return sum;
}

void softmax(float* x, int n) {
  float max = x[0];
  const int whole = n / kLanes * kLanes;
  if (whole > 0) {
    Vec most = load(x);
    for (int i = kLanes; i < whole; i += kLanes) {
      const Vec v = load(x + i);
      most = v > most ? v : most;
    }
    for (int i = 0; i < kLanes; i++) max = most[i] > max ? most[i] : max;
  }
  for (int i = whole; i < n; i++) max = x[i] > max ? x[i] : max;

  Vec sums = {};
  for (int i = 0; i < whole; i += kLanes) {
    const Vec e = exp_negative(load(x + i) - all(max));
    sums += e;
    store(x + i, e);
  }
  float sum = sum_lanes(sums);
  for (int i = whole; i < n; i++) {
    x[i] = exp_negative(all(x[i] - max))[0];
    sum += x[i];
  }
  const float scale = 1.0f / sum;
  for (int i = 0; i < n; i++) x[i] *= scale;
}

// x (1 + erf(x / sqrt 2)) / 2 = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2, where erfc is within 1.5e-7 by formula 7.1.26
// of Abramowitz and Stegun, Handbook of Mathematical Functions.
inline Vec gelu(Vec x) {
  const Vec size = x < Vec{} ? -x : x, z = size * all(0.70710678f);
  const Vec t = all(1.0f) / (all(1.0f) + all(0.3275911f) * z);
  Vec tail = all(1.061405429f);
  tail = tail * t + all(-1.453152027f);
  tail = tail * t + all(1.421413741f);
  tail = tail * t + all(-0.284496736f);
  tail = tail * t + all(0.254829592f);
  tail = tail * t * exp_negative(-z * z);
  return (x > Vec{} ? x : Vec{}) - all(0.5f) * size * tail;
}

void gelu(float* x, int n) {
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, gelu(load(x + i)));
  for (; i < n; i++) x[i] = gelu(all(x[i]))[0];
}

void attend_history(const float* q, const float* k, const float* v, const uint8_t* where, int64_t row_stride,
                    int64_t stride, int n, float* scores, float* out) {
  constexpr int kParts = 64 / kLanes;
  for (int t = 0; t < n; t++) {
    const float* key = k + where[t] * row_stride + t * stride;
    Vec sum = {};
#pragma GCC unroll 16
    for (int i = 0; i < kParts; i++) sum += load(q + i * kLanes) * load(key + i * kLanes);
    scores[t] = sum_lanes(sum);
  }
  softmax(scores, n);
  Vec sum[kParts] = {};
  for (int t = 0; t < n; t++) {
    const float* value = v + where[t] * row_stride + t * stride;
#pragma GCC unroll 16
    for (int i = 0; i < kParts; i++) sum[i] += scores[t] * load(value + i * kLanes);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kParts; i++) store(out + i * kLanes, sum[i]);
}
