#include "kernels/cuda/decoder_width.cuh"

namespace sotto::cuda {
DECODER_KERNELS(f16, f16, f16, 384)
DECODER_KERNELS(bf16, bf16, bf16, 384)
DECODER_KERNELS(i8, s8, f16, 384)
}  // namespace sotto::cuda
