#include "kernels/cuda/encoder_width.cuh"

namespace sotto::cuda {
ENCODER_KERNELS(f16, 384)
ENCODER_KERNELS(bf16, 384)
ENCODER_S8_KERNELS(384)
}  // namespace sotto::cuda
