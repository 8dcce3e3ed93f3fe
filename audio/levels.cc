#include "audio/levels.h"

#include <algorithm>

namespace sotto {

namespace {

template <typename T>
void widen(const uint8_t* data, int64_t n, int stride, float scale, float offset, float* out) {
  const T* samples = reinterpret_cast<const T*>(data);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(samples[i * stride]) * scale + offset;
}

}  // namespace

bool read_channel(const AVFrame& frame, int c, int64_t first, std::vector<float>& out) {
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const bool planar = av_sample_fmt_is_planar(format) != 0;
  const int stride = planar ? 1 : frame.ch_layout.nb_channels, bytes = av_get_bytes_per_sample(format);
  const int64_t n = frame.nb_samples - first;
  const uint8_t* data = frame.extended_data[planar ? c : 0] + (first * stride + (planar ? 0 : c)) * bytes;
  out.resize(n);
  switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8: widen<uint8_t>(data, n, stride, 1.0f / 128, -1.0f, out.data()); return true;
    case AV_SAMPLE_FMT_S16: widen<int16_t>(data, n, stride, 0x1p-15f, 0.0f, out.data()); return true;
    case AV_SAMPLE_FMT_S32: widen<int32_t>(data, n, stride, 0x1p-31f, 0.0f, out.data()); return true;
    case AV_SAMPLE_FMT_S64: widen<int64_t>(data, n, stride, 0x1p-63f, 0.0f, out.data()); return true;
    case AV_SAMPLE_FMT_FLT: widen<float>(data, n, stride, 1.0f, 0.0f, out.data()); return true;
    case AV_SAMPLE_FMT_DBL: widen<double>(data, n, stride, 1.0f, 0.0f, out.data()); return true;
    default: return false;
  }
}

double bend_energy(const std::vector<float>& samples) {
  constexpr size_t kLanes = 16;
  double energy = 0.0;
  for (size_t i = 2; i < samples.size();) {
    float sums[kLanes] = {};
    const size_t end = std::min(samples.size(), i + 4096);
    for (; i + kLanes <= end; i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) {
        const float bend = samples[i + k] - 2.0f * samples[i + k - 1] + samples[i + k - 2];
        sums[k] += bend * bend;
      }
    }
    for (; i < end; ++i) {
      const float bend = samples[i] - 2.0f * samples[i - 1] + samples[i - 2];
      sums[0] += bend * bend;
    }
    for (float sum : sums) energy += sum;
  }
  return energy;
}

}  // namespace sotto
