#include "audio/mono_resampler.h"

#include <algorithm>

#include "models/dims.h"
#include "models/error.h"

namespace sotto {

void MonoResampler::push(const AVFrame& frame, std::vector<float>& out) {
  adopt(static_cast<AVSampleFormat>(frame.format), frame.sample_rate, frame.ch_layout);
  convert(frame.extended_data, frame.nb_samples, out);
}

void MonoResampler::push(std::span<const float> interleaved, int rate, int channels, std::vector<float>& out) {
  AVChannelLayout layout = {};
  av_channel_layout_default(&layout, channels);
  adopt(AV_SAMPLE_FMT_FLT, rate, layout);
  const auto* plane = reinterpret_cast<const uint8_t*>(interleaved.data());
  convert(&plane, static_cast<int>(interleaved.size()) / channels, out);
}

void MonoResampler::flush(std::vector<float>& out) {
  if (resampler_) convert(nullptr, 0, out);
}

void MonoResampler::adopt(AVSampleFormat format, int rate, const AVChannelLayout& layout) {
  if (resampler_ && format == format_ && rate == rate_ && av_channel_layout_compare(&layout, &layout_) == 0) return;
  format_ = format;
  rate_ = rate;
  av_channel_layout_uninit(&layout_);
  av_channel_layout_copy(&layout_, &layout);
  AVChannelLayout from = {};
  if (layout.order == AV_CHANNEL_ORDER_UNSPEC)
    av_channel_layout_default(&from, layout.nb_channels);
  else
    av_channel_layout_copy(&from, &layout);
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  SwrContext* resampler = nullptr;
  int code = swr_alloc_set_opts2(&resampler, &mono, AV_SAMPLE_FMT_FLT, kSampleRate, &from, format_, rate_, 0, nullptr);
  av_channel_layout_uninit(&from);
  resampler_.reset(resampler);
  if (code >= 0) code = av_opt_set_double(resampler, "rematrix_maxval", 1, 0);  // a mix is no louder than its channels
  if (code >= 0) code = swr_init(resampler);
  if (code < 0)
    throw Error("sound of " + std::to_string(rate) + " Hz with " + std::to_string(layout.nb_channels) +
                " channels can't be resampled: " + av::error_text(code));
}

void MonoResampler::convert(const uint8_t* const* planes, int n, std::vector<float>& out) {
  const size_t before = out.size();
  const int most = swr_get_out_samples(resampler_.get(), n);
  if (most <= 0) return;
  out.resize(before + most);
  auto* target = reinterpret_cast<uint8_t*>(out.data() + before);
  const int made = swr_convert(resampler_.get(), &target, most, const_cast<const uint8_t**>(planes), n);
  out.resize(before + std::max(made, 0));
  for (size_t i = before; i < out.size(); ++i) out[i] = out[i] == out[i] ? std::clamp(out[i], -1.0f, 1.0f) : 0.0f;
}

}  // namespace sotto
