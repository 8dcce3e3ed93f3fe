#include "kernels/cuda/decoder_width.cuh"

namespace sotto::cuda {
DECODER_KERNELS(f16, f16, f16, 512)
DECODER_KERNELS(bf16, bf16, bf16, 512)
DECODER_KERNELS(i8, s8, f16, 512)
}  // namespace sotto::cuda
