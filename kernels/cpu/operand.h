// The left side of products: memory for rows in an operand type, and the step from f32 rows to it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/packed_model.h"

namespace sotto::cpu {

// Zeroed memory from a multiple of 64, of which only what is touched takes room.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t count, bool huge_pages = true);
  T* data() const { return data_.get(); }
  T* operator+(int64_t i) const { return data_.get() + i; }

 private:
  struct Unmap {
    int64_t bytes = 0;
    void operator()(T* data) const;
  };
  std::unique_ptr<T, Unmap> data_;
};

// Rows of f32, `stride` floats apart.
struct View {
  float* x = nullptr;
  int64_t stride = 0;
  float* row(int64_t r) const { return x + r * stride; }
};

// Rows as the left side of a product.
struct Operand {
  const void* a;
  int64_t stride;      // bytes
  const float* scale;  // i8: [rows][scales_of(width)]
};

// Room for operands of up to `rows` rows of up to `width` values.
class OperandBuffer {
 public:
  OperandBuffer() = default;
  // gap: bytes from the end of a row to the next, so that rows are not a power of 2 apart; 0: rows may overlap.
  OperandBuffer(int64_t rows, int64_t width, int gap = 64);

  Rows rows(Type type, View x, int first, int count, int width) const;
  Operand operand(Type type, int width) const;

 private:
  int64_t stride(Type type, int width) const { return int64_t(width) * operand_bytes(type) + gap_; }
  int gap_ = 0;
  Buffer<char> data_;
  Buffer<float> scale_;
};

Product product_of(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c, int panel);

}  // namespace sotto::cpu
