#include "models/weights.h"

#include <bit>
#include <cstring>

#include "models/error.h"

namespace sotto {
namespace {

constexpr int kBlock = 32;  // values in one block of the quantised kinds

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Branch-free, so that loops over it become vector code: the exponent is rebased by a product with 2^112, which also
// normalises subnormals; infinities and NaNs come out as 2^16 and more and get the exponent of all ones.
inline float f16_to_f32(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const float rebased = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7c00u << 13 ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(rebased) | special | (half & 0x8000u) << 16);
}

// The blocks of 32 values. A byte of nibbles holds values i (low) and i + 16 (high); bit i of `high` is the fifth bit
// of value i.
//   q4_0  f16 d, 16 bytes of nibbles                (q - 8) d
//   q4_1  f16 d, f16 m, 16 bytes                    q d + m
//   q5_0  f16 d, u32 high, 16 bytes                 (q - 16) d
//   q5_1  f16 d, f16 m, u32 high, 16 bytes          q d + m
//   q8_0  f16 d, 32 int8                            q d
constexpr int block_bytes(Encoding encoding) {
  switch (encoding) {
    case Encoding::q4_0: return 18;
    case Encoding::q4_1: return 20;
    case Encoding::q5_0: return 22;
    case Encoding::q5_1: return 24;
    case Encoding::q8_0: return 34;
    default: return 0;
  }
}

template <Encoding kEncoding>
void read_block(const std::byte* block, float* out) {
  constexpr bool kOffset = kEncoding == Encoding::q4_1 || kEncoding == Encoding::q5_1;
  constexpr bool kFive = kEncoding == Encoding::q5_0 || kEncoding == Encoding::q5_1;
  constexpr int kZero = kOffset ? 0 : kFive ? 16 : 8;
  const float d = f16_to_f32(load<uint16_t>(block));
  block += 2;
  float m = 0;
  if constexpr (kOffset) {
    m = f16_to_f32(load<uint16_t>(block));
    block += 2;
  }
  uint32_t high = 0;
  if constexpr (kFive) {
    high = load<uint32_t>(block);
    block += 4;
  }
  for (int i = 0; i < kBlock / 2; ++i) {
    const int nibbles = std::to_integer<int>(block[i]);
    const int low_q = (nibbles & 15) | static_cast<int>(high >> i & 1) << 4;
    const int high_q = nibbles >> 4 | static_cast<int>(high >> (i + 16) & 1) << 4;
    out[i] = static_cast<float>(low_q - kZero) * d + m;
    out[i + kBlock / 2] = static_cast<float>(high_q - kZero) * d + m;
  }
}

template <>
void read_block<Encoding::q8_0>(const std::byte* block, float* out) {
  const float d = f16_to_f32(load<uint16_t>(block));
  for (int i = 0; i < kBlock; ++i) out[i] = static_cast<float>(load<int8_t>(block + 2 + i)) * d;
}

template <Encoding kEncoding>
void read_blocks(const std::byte* from, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kBlock, from += block_bytes(kEncoding)) read_block<kEncoding>(from, out + i);
}

void read_values(Encoding encoding, const std::byte* from, int64_t n, float* out) {
  switch (encoding) {
    case Encoding::f32: std::memcpy(out, from, static_cast<size_t>(n) * sizeof(float)); return;
    case Encoding::f16:
      for (int64_t i = 0; i < n; ++i) out[i] = f16_to_f32(load<uint16_t>(from + 2 * i));
      return;
    case Encoding::bf16:
      for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(uint32_t{load<uint16_t>(from + 2 * i)} << 16);
      return;
    case Encoding::i8:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(load<int8_t>(from + i));
      return;
    case Encoding::q4_0: return read_blocks<Encoding::q4_0>(from, n, out);
    case Encoding::q4_1: return read_blocks<Encoding::q4_1>(from, n, out);
    case Encoding::q5_0: return read_blocks<Encoding::q5_0>(from, n, out);
    case Encoding::q5_1: return read_blocks<Encoding::q5_1>(from, n, out);
    case Encoding::q8_0: return read_blocks<Encoding::q8_0>(from, n, out);
  }
}

}  // namespace

int64_t row_bytes(Encoding encoding, int64_t cols) {
  switch (encoding) {
    case Encoding::f32: return cols * 4;
    case Encoding::f16:
    case Encoding::bf16: return cols * 2;
    case Encoding::i8: return cols;
    default: CHECK_INVARIANT(cols % kBlock == 0); return cols / kBlock * block_bytes(encoding);
  }
}

Stored Stored::row_range(int64_t first, int64_t count) const {
  CHECK_INVARIANT(data && first >= 0 && count >= 0 && first <= rows - count);
  Stored part = *this;
  part.rows = count;
  part.data += first * row_bytes(encoding, cols);
  if (row_scale) part.row_scale += first * static_cast<int64_t>(sizeof(float));
  return part;
}

void read_rows(const Stored& from, int64_t first, int64_t count, float* out) {
  const Stored part = from.row_range(first, count);
  if (part.encoding != Encoding::i8) return read_values(part.encoding, part.data, part.size(), out);
  for (int64_t row = 0; row < count; ++row, out += part.cols) {
    read_values(Encoding::i8, part.data + row * part.cols, part.cols, out);
    const float scale = load<float>(part.row_scale + row * static_cast<int64_t>(sizeof(float)));
    for (int64_t i = 0; i < part.cols; ++i) out[i] /= scale;
  }
}

std::vector<float> read_all(const Stored& from) {
  std::vector<float> out(static_cast<size_t>(from.size()));
  read_rows(from, 0, from.rows, out.data());
  return out;
}

}  // namespace sotto
