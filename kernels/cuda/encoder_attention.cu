#include "kernels/cuda/encoder_attention.cuh"

namespace sotto::cuda {
KERNEL(encoder_attention_f16_64, kAttentionThreads, 3, EncoderAttentionArgs) { encoder_attention<f16, 64>(args); }
KERNEL(encoder_attention_f16_128, kAttentionThreads, 2, EncoderAttentionArgs) { encoder_attention<f16, 128>(args); }
KERNEL(encoder_attention_bf16_64, kAttentionThreads, 3, EncoderAttentionArgs) { encoder_attention<bf16, 64>(args); }
KERNEL(encoder_attention_bf16_128, kAttentionThreads, 2, EncoderAttentionArgs) { encoder_attention<bf16, 128>(args); }
}  // namespace sotto::cuda
