#include "kernels/cuda/encoder_width.cuh"

namespace sotto::cuda {
ENCODER_KERNELS(f16, 1280)
ENCODER_KERNELS(bf16, 1280)
WIDE_KERNELS(f16, 1280)
WIDE_KERNELS(bf16, 1280)
ENCODER_S8_KERNELS(1280)
}  // namespace sotto::cuda
