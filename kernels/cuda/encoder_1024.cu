#include "kernels/cuda/encoder_width.cuh"

namespace sotto::cuda {
ENCODER_KERNELS(f16, 1024)
ENCODER_KERNELS(bf16, 1024)
WIDE_KERNELS(f16, 1024)
WIDE_KERNELS(bf16, 1024)
ENCODER_S8_KERNELS(1024)
}  // namespace sotto::cuda
