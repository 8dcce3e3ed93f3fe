// The log-mel windows that the host gives, as the first convolution's operand: half, a row of zeros before frame 0.
//
// Contract. mel: f32 [windows][3000][bins], in the host's memory if it is mapped: it is read once, in order. to: half
// [windows][kFrameRows][bins], of which rows 1 to 3000 are written; the rest are zeros since the buffer was made. A
// thread has four values; grid: ceil(3000 bins / 4 / 256) by windows.
//
// Roofline. Bytes: 3000 bins (4 + 2) a window, 1.4 MB or 2.3 MB; what comes from the host sets the time: 0.96 MB at PCIe
// 4.0's 25 GB/s are 38 us, at 5.0's 50 GB/s 19 us. Predicted share, not measured: 85 % of the link's rate.
#include "kernels/cuda/encoder_kernels.h"
#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

template <class T>
DEVICE void mel_operand(const MelOperandArgs& args) {
  const int i = (block_x() * kMelOperandThreads + thread()) * 4, values = kMelFrames * args.bins, window = block_y();
  if (i >= values) return;
  const f32x4 mel = load_readonly(reinterpret_cast<const f32x4*>(args.mel + int64_t{window} * values + i));
  T* const to = static_cast<T*>(args.to) + (int64_t{window} * kFrameRows + 1) * args.bins + i;
  store(reinterpret_cast<u32x2*>(to), u32x2{pack<T>(mel.v[0], mel.v[1]), pack<T>(mel.v[2], mel.v[3])});
}

KERNEL(mel_operand_f16, kMelOperandThreads, 4, MelOperandArgs) { mel_operand<f16>(args); }
KERNEL(mel_operand_bf16, kMelOperandThreads, 4, MelOperandArgs) { mel_operand<bf16>(args); }

}  // namespace sotto::cuda
