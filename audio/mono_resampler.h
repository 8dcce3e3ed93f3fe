// Sound of any rate, layout and sample format to 16 kHz mono, with a delay of a millisecond, for what is heard as it is
// made. (Downmix takes half a second to decide which channels to mix.)
#pragma once

#include <span>
#include <vector>

#include "audio/av.h"

namespace sotto {

class MonoResampler {
 public:
  MonoResampler() = default;
  ~MonoResampler() { av_channel_layout_uninit(&layout_); }
  MonoResampler(const MonoResampler&) = delete;
  MonoResampler& operator=(const MonoResampler&) = delete;

  // Appends to `out`, in [-1, 1]. The format may change from call to call.
  void push(const AVFrame& frame, std::vector<float>& out);
  void push(std::span<const float> interleaved, int rate, int channels, std::vector<float>& out);

  void flush(std::vector<float>& out);  // the last millisecond

 private:
  void adopt(AVSampleFormat format, int rate, const AVChannelLayout& layout);
  void convert(const uint8_t* const* planes, int n, std::vector<float>& out);

  AVSampleFormat format_ = AV_SAMPLE_FMT_NONE;
  int rate_ = 0;
  AVChannelLayout layout_ = {};
  av::Resampler resampler_;
};

}  // namespace sotto
