#include "kernels/cuda/encoder_width.cuh"

namespace sotto::cuda {
ENCODER_KERNELS(f16, 512)
ENCODER_KERNELS(bf16, 512)
WIDE_KERNELS(f16, 512)
WIDE_KERNELS(bf16, 512)
ENCODER_S8_KERNELS(512)
}  // namespace sotto::cuda
