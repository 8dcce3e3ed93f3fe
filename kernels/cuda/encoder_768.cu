#include "kernels/cuda/encoder_width.cuh"

namespace sotto::cuda {
ENCODER_KERNELS(f16, 768)
ENCODER_KERNELS(bf16, 768)
WIDE_KERNELS(f16, 768)
WIDE_KERNELS(bf16, 768)
ENCODER_S8_KERNELS(768)
}  // namespace sotto::cuda
