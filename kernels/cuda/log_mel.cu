// log10 of the mel power of frames of 400 samples under a Hann window, every 160 samples, and its maximum; then the
// clamp to 8 below the maximum and the scale, as the first convolution's operand.
//
// Contract. log_mel: frame i is samples [160 i, 160 i + 400); the caller reflects the sound's edge and adds zeros at its
// end. Grid: ceil(n_frames / 16), 256 threads. mel_clamp: a thread has four values; grid: ceil(3000 bins / 4 / 256).
//
// Roofline. The DFT of real samples folds twice: about n = 200, which leaves cosines of sums and sines of differences,
// and about n = 100, where a bin's parity decides the sign. So a frame takes 2 * 101 * 201 multiply-adds and some 2000
// more: 0.25 G operations in f32 for 3000 frames, 13 us on A100 (19.5 T/s), 3 us on RTX 4090 (82), 4 us on H200 (67).
// Bytes: 1.9 MB of samples, from the host's memory 77 us at 25 GB/s: that link is the limit unless samples are there
// already. Tensor cores would not do: TF32's noise stands 60 dB below a frame's strongest bin, and the clamp keeps 80.
// Predicted share, not measured: 55 % of f32's rate (79 % of the lanes have a bin; 8 broadcasts go with 32 multiply-adds).
//
// A thread has one bin of the spectrum for 16 frames: its cosine and sine are read once for 32 multiply-adds, and the
// folded samples come as broadcasts. Shared rows are 20 values long, so that stores of 16 bytes to eight neighbouring
// rows meet no bank twice; the filters read rows at any distance and do so now and then, in a fiftieth of all reads.
#include "kernels/cuda/log_mel.h"
#include "kernels/cuda/ptx.cuh"

namespace sotto::cuda {

constexpr int kSamples = (kLogMelFrames - 1) * kMelHop + kMelWindow, kRow = kLogMelFrames + 4;
static_assert(kSamples % 4 == 0);

// Comparing these as integers compares the floats.
DEVICE int32_t ordered_bits(float value) {
  const int32_t bits = static_cast<int32_t>(as_bits(value));
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
DEVICE float from_ordered_bits(int32_t bits) {
  return as_float(static_cast<uint32_t>(bits < 0 ? bits ^ 0x7fffffff : bits));
}

// folded [parity][cos, sin][kFolded][kRow]: the terms of even and odd bins' sums over n, from samples [kSamples].
DEVICE void fold(const float* samples, const float* window, float* folded) {
  constexpr int kTerms = kFolded * kRow;
  for (int i = thread(); i < kFolded * kLogMelFrames / 4; i += kLogMelThreads) {
    const int n = i % kFolded, frame = i / kFolded * 4;
    const float w = load_readonly(window + n);
    f32x4 terms[4];
#pragma unroll
    for (int f = 0; f < 4; f++) {
      const float* x = samples + (frame + f) * kMelHop;
      const float a = load_shared(x + n), b = n == 0 ? 0 : load_shared(x + 400 - n);  // the window is 0 there
      const float c = load_shared(x + 200 - n), d = load_shared(x + 200 + n);
      const float even = w * (a + b), odd = w * (a - b);  // about 200; the window at 200 - n is 1 - w
      const float even_far = (1 - w) * (c + d), odd_far = (1 - w) * (c - d);
      terms[0].v[f] = even + even_far;
      terms[1].v[f] = odd - odd_far;
      terms[2].v[f] = even - even_far;
      terms[3].v[f] = odd + odd_far;
    }
#pragma unroll
    for (int part = 0; part < 4; part++) {
      store_shared(reinterpret_cast<f32x4*>(folded + part * kTerms + n * kRow + frame), terms[part]);
    }
  }
}

// The power of this thread's bin in all frames, from the terms of its parity.
DEVICE void transform(const float* terms, const float* dft, f32x4 (&power)[kLogMelFrames / 4]) {
  f32x4 re[kLogMelFrames / 4] = {}, im[kLogMelFrames / 4] = {};
#pragma unroll 4
  for (int n = 0; n < kFolded; n++) {
    const f32x2 unit = load_readonly(reinterpret_cast<const f32x2*>(dft) + n * kLogMelThreads + thread());
#pragma unroll
    for (int quad = 0; quad < kLogMelFrames / 4; quad++) {
      const auto* at = reinterpret_cast<const f32x4*>(terms + n * kRow) + quad;
      const f32x4 cosines = load_shared(at), sines = load_shared(at + kFolded * kRow / 4);
#pragma unroll
      for (int f = 0; f < 4; f++) {
        re[quad].v[f] += cosines.v[f] * unit.v[0];
        im[quad].v[f] += sines.v[f] * unit.v[1];
      }
    }
  }
#pragma unroll
  for (int quad = 0; quad < kLogMelFrames / 4; quad++) {
#pragma unroll
    for (int f = 0; f < 4; f++) {
      power[quad].v[f] = re[quad].v[f] * re[quad].v[f] + im[quad].v[f] * im[quad].v[f];
    }
  }
}

template <int kBins>
DEVICE void log_mel(const LogMelArgs& args) {
  float* const samples = reinterpret_cast<float*>(shared_memory());
  float* const folded = samples + kSamples;
  const int frame0 = block_x() * kLogMelFrames, left = (args.n_frames - 1 - frame0) * kMelHop + kMelWindow;
  for (int i = thread() * 4; i < kSamples; i += kLogMelThreads * 4) {
    const float* from = args.samples + int64_t{frame0} * kMelHop + i;
    store_shared(reinterpret_cast<f32x4*>(samples + i),
                 i < left ? load_readonly(reinterpret_cast<const f32x4*>(from)) : f32x4{});
  }
  sync_threads();
  fold(samples, args.window, folded);
  sync_threads();
  const int parity = thread() / 128, bin = thread() % 128;
  f32x4 power[kLogMelFrames / 4];
  transform(folded + parity * 2 * kFolded * kRow, args.dft, power);
  sync_threads();

  // The powers take the terms' place: those of the even bins, then those of the odd ones.
  if (2 * bin + parity < kSpectrum) {
#pragma unroll
    for (int quad = 0; quad < kLogMelFrames / 4; quad++) {
      store_shared(reinterpret_cast<f32x4*>(folded + (parity * kFolded + bin) * kRow) + quad, power[quad]);
    }
  }
  sync_threads();

  float most = -10;
  for (int i = thread(); i < kBins * kLogMelFrames / 4; i += kLogMelThreads) {
    const int mel = i / 4, quad = i % 4;
    const MelFilter filter = load_readonly(args.filters + mel);
    f32x4 sum = {};
    for (int j = 0; j < filter.count; j++) {
      const int k = filter.first + j;
      const float weight = load_readonly(args.weights + filter.weights + j);
      const f32x4 p = load_shared(reinterpret_cast<const f32x4*>(folded + (k % 2 * kFolded + k / 2) * kRow) + quad);
#pragma unroll
      for (int f = 0; f < 4; f++) sum.v[f] += weight * p.v[f];
    }
#pragma unroll
    for (int f = 0; f < 4; f++) {
      const int frame = frame0 + quad * 4 + f;
      if (frame >= args.n_frames) continue;
      const float value = log10f(fmaxf(sum.v[f], 1e-10f));
      most = fmaxf(most, value);
      store(args.log_mel + int64_t{frame} * kBins + mel, value);
    }
  }
  most = warp_max(most);
  if (lane() == 0) atomic_max_relaxed(args.maximum, ordered_bits(most));
}

template <class T>
DEVICE void mel_clamp(const MelClampArgs& args) {
  const int i = (block_x() * kMelOperandThreads + thread()) * 4;
  if (i >= kMelFrames * args.bins) return;
  float mel[4] = {};
  if (i < args.n_frames * args.bins) {
    const float floor = from_ordered_bits(load_readonly(args.maximum)) - 8;
    const f32x4 from = load_readonly(reinterpret_cast<const f32x4*>(args.log_mel + i));
#pragma unroll
    for (int j = 0; j < 4; j++) mel[j] = (fmaxf(from.v[j], floor) + 4) / 4;
  }
  store(reinterpret_cast<u32x2*>(static_cast<T*>(args.to) + args.bins + i),
        u32x2{pack<T>(mel[0], mel[1]), pack<T>(mel[2], mel[3])});
}

KERNEL(log_mel_80, kLogMelThreads, 2, LogMelArgs) { log_mel<80>(args); }
KERNEL(log_mel_128, kLogMelThreads, 2, LogMelArgs) { log_mel<128>(args); }
KERNEL(mel_clamp_f16, kMelOperandThreads, 4, MelClampArgs) { mel_clamp<f16>(args); }
KERNEL(mel_clamp_bf16, kMelOperandThreads, 4, MelClampArgs) { mel_clamp<bf16>(args); }

}  // namespace sotto::cuda
