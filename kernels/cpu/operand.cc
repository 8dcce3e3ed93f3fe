#include "kernels/cpu/operand.h"

#include <sys/mman.h>

namespace sotto::cpu {

template <class T>
Buffer<T>::Buffer(int64_t count, bool huge_pages) {
  const int64_t bytes = (count > 0 ? count : 1) * static_cast<int64_t>(sizeof(T));
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (huge_pages && bytes >= int64_t{4} << 20) madvise(base, bytes, MADV_HUGEPAGE);
  data_ = std::unique_ptr<T, Unmap>(static_cast<T*>(base), Unmap{bytes});
}

template <class T>
void Buffer<T>::Unmap::operator()(T* data) const {
  munmap(data, bytes);
}

template class Buffer<char>;
template class Buffer<float>;

OperandBuffer::OperandBuffer(int64_t rows, int64_t width, int gap)
    : gap_(gap), data_(rows * (width * 4 + gap)), scale_(rows * scales_of(width)) {}

Rows OperandBuffer::rows(Type type, View x, int first, int count, int width) const {
  Rows rows;
  rows.x = x.row(first);
  rows.x_stride = x.stride;
  rows.rows = count;
  rows.width = width;
  rows.out = data_ + first * stride(type, width);
  rows.out_stride = stride(type, width);
  rows.scale = scale_ + first * scales_of(width);
  return rows;
}

Operand OperandBuffer::operand(Type type, int width) const { return {data_.data(), stride(type, width), scale_.data()}; }

Product product_of(const PackedLinear& linear, const Operand& a, int rows, Epilogue epilogue, View c, int panel) {
  Product product;
  product.a = a.a;
  product.a_stride = a.stride;
  product.a_scale = linear.type == Type::i8 ? a.scale : nullptr;
  product.a_scale_stride = scales_of(linear.k);
  product.rows = rows;
  product.b = linear.b;
  product.groups = linear.groups();
  product.b_panel_bytes = int64_t(linear.groups()) * panel * group_bytes(linear.type);
  product.last_panel = linear.panels(panel);
  product.bias = linear.bias;
  product.b_scale = linear.b_scale;
  product.b_start = linear.b_start;
  product.b_stride = int64_t(linear.panels(panel)) * panel;
  product.epilogue = epilogue;
  product.c = c.x;
  product.c_stride = c.stride;
  return product;
}

}  // namespace sotto::cpu
