// Work on rows: LayerNorm, operands, exp2 and GELU; included by each instruction set's file (see generic.h).

// 2^x for x <= 30. Below factors[0] it stays at 2^factors[0], so that no product of it is subnormal (such are computed a
// hundred times slower). The others, the highest first, are of the polynomial that is best of its degree for 2^f, 0 <= f < 1.
template <int kDegree>
static inline vf exp2_by(const float* factors, vf x) {
  x = max(x, splat(factors[0]));
  const vf f = fraction(x);
  vf p = splat(factors[1]);
#pragma GCC unroll 8
  for (int i = 2; i <= kDegree + 1; ++i) p = fma(p, f, splat(factors[i]));
  return times_power_of_2(p, x);
}

constexpr float kExp2Factors[] = {-100,          1.8775767e-3f, 8.9893400e-3f, 5.5826318e-2f,
                                  2.4015362e-1f, 6.9315307e-1f, 9.9999993e-1f};  // to 8e-8, with roundings 2e-7
constexpr float kRoughExp2Factors[] = {-100, 7.802452e-2f, 2.2606716e-1f, 6.9583354e-1f, 9.9992522e-1f};  // to 8e-5
static inline vf exp2_negative(vf x) { return exp2_by<5>(kExp2Factors, x); }

// max(x, 0) - |x| erfc(|x| / sqrt 2) / 2, with erfc after Abramowitz & Stegun 7.1.26 (error 1.5e-7): error < 1e-6.
static inline vf gelu(vf x) {
  const vf size = abs(x);
  const vf t = reciprocal(fma(size, splat(0.3275911f * 0.70710678f), splat(1.0f)));
  vf p = splat(0.5f * 1.061405429f);
  p = fma(p, t, splat(0.5f * -1.453152027f));
  p = fma(p, t, splat(0.5f * 1.421413741f));
  p = fma(p, t, splat(0.5f * -0.284496736f));
  p = fma(p, t, splat(0.5f * 0.254829592f));
  const vf tail = p * t * exp2_negative(x * x * splat(-0.72134752f));
  return max(x, splat(0)) - size * tail;
}

// n bytes (a multiple of 4 vectors), kLanes of them at a time from at(place), integers.
template <class At>
static inline void store_bytes(uint8_t* to, int n, const At& at) {
  for (int i = 0; i < n; i += 4 * kLanes) store_u8(to + i, at(i), at(i + kLanes), at(i + 2 * kLanes), at(i + 3 * kLanes));
}

// A row that was normalised or computed becomes an operand.
struct ToF32 {
  static inline void row(const float* x, int width, Range, void* out, float*) {
    for (int i = 0; i < width; i += kLanes) store_f32(static_cast<float*>(out) + i, load_f32(x + i));
  }
};

struct ToI8 {
  static inline void part(const float* x, int n, bool gelu, uint8_t* out, float* scale) {
    vf largest = splat(0);
    if (gelu) {
      for (int i = 0; i < n; i += kLanes) largest = max(largest, load_f32(x + i));
    } else {
      for (int i = 0; i < n; i += kLanes) largest = max(largest, abs(load_f32(x + i)));
    }
    const float peak = largest_of(largest);
    const float step = gelu ? (peak + kGeluFloor) / 255 : peak > 0 ? peak / 127 : 1;
    const vf factor = splat(1 / step), offset = splat(gelu ? kGeluFloor / step : kOffset);
    store_bytes(out, n, [&](int i) { return round_i32(fma(load_f32(x + i), factor, offset)); });
    *scale = step;
  }
  static inline void row(const float* x, int width, Range range, void* out, float* scale) {
    for (int i = 0; i < width; i += kScaled) {
      const int n = width - i < kScaled ? width - i : kScaled;
      part(x + i, n, range == Range::gelu, static_cast<uint8_t*>(out) + i, scale++);
    }
  }
};

#ifdef SOTTO_HAS_BF16
struct ToBf16 {
  static inline void row(const float* x, int width, Range, void* out, float*) {
    for (int i = 0; i < width; i += kLanes) store_bf16(static_cast<uint16_t*>(out) + i, load_f32(x + i));
  }
};
#endif

template <class To>
static void operand(const Rows& rows, Range range) {
  for (int r = 0; r < rows.rows; ++r)
    To::row(rows.x + r * rows.x_stride, rows.width, range, static_cast<char*>(rows.out) + r * rows.out_stride,
            rows.scale + r * scales_of(rows.width));
}

// Of Range::gelu, whose products take no offset away, values are rounded down and the rest is 0 to 1 step.
static void operand_and_rest(const Rows& rows, const Rows& rest, Range range) {
  const bool gelu = range == Range::gelu;
  for (int r = 0; r < rows.rows; ++r) {
    const float* x = rows.x + r * rows.x_stride;
    uint8_t* out = static_cast<uint8_t*>(rows.out) + r * rows.out_stride;
    uint8_t* low = static_cast<uint8_t*>(rest.out) + r * rest.out_stride;
    for (int i = 0, chunk = r * scales_of(rows.width); i < rows.width; i += kScaled, ++chunk) {
      const int n = rows.width - i < kScaled ? rows.width - i : kScaled;
      ToI8::part(x + i, n, gelu, out + i, rows.scale + chunk);
      const float step = rows.scale[chunk], finer = gelu ? 255 : 254;
      rest.scale[chunk] = step / finer;
      const vf factor = splat(1 / step), offset = splat(gelu ? kGeluFloor / step : 0), half = splat(gelu ? 0.5f : 0);
      const auto steps_of = [&](int j) { return fma(load_f32(x + i + j), factor, offset); };
      const auto whole_of = [&](int j) { return round_i32(steps_of(j) - half); };
      const vf zero = splat(gelu ? 0 : kOffset);
      if (gelu) store_bytes(out + i, n, whole_of);
      store_bytes(low + i, n, [&](int j) { return round_i32(fma(steps_of(j) - from_i32(whole_of(j)), splat(finer), zero)); });
    }
  }
}

constexpr int kWidest = 1280;

template <class To>
static void norm(const Rows& rows, const float* weight, const float* bias) {
  float normed[kWidest];
  const int width = rows.width;
  for (int r = 0; r < rows.rows; ++r) {
    const float* x = rows.x + r * rows.x_stride;
    vf total = splat(0);
    for (int i = 0; i < width; i += kLanes) total = total + load_f32(x + i);
    const vf mean = splat(sum_of(total) / float(width));
    vf squares = splat(0);
    for (int i = 0; i < width; i += kLanes) {
      const vf d = load_f32(x + i) - mean;
      squares = fma(d, d, squares);
    }
    const vf inverse = splat(1 / __builtin_sqrtf(sum_of(squares) / float(width) + 1e-5f));
    for (int i = 0; i < width; i += kLanes)
      store_f32(normed + i, fma((load_f32(x + i) - mean) * inverse, load_f32(weight + i), load_f32(bias + i)));
    To::row(normed, width, Range::symmetric, static_cast<char*>(rows.out) + r * rows.out_stride,
            rows.scale + r * scales_of(rows.width));
  }
}
