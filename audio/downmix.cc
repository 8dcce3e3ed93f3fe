#include "audio/downmix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "audio/levels.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {

namespace {

// A mix this far (20 dB) below its loudest channel has lost it: two channels of equal level would have to be opposite
// with a correlation beyond -0.98, which no ordinary stereo is for half a second.
constexpr double kLost = 0.01;
constexpr double kFound = 0.05;       // and this far (13 dB) is a mix that can be taken again
constexpr double kAudible = 1e-8;     // bend_energy below which a block says nothing: speech at about -55 dB
constexpr double kLouder = 10.0;      // another channel must be 10 dB above the one taken
constexpr int kBlocksToReturn = 4;    // of half a second
constexpr float kAbsurd = 1e6f;       // no recording is 120 dB over full scale

// Sets samples that can't be meant to 0 and counts them. The loop without branches comes first: nearly always the
// count is 0.
template <typename T>
int64_t clean(T* samples, int64_t n) {
  int64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad += !(std::abs(samples[i]) <= T(kAbsurd));
  if (bad == 0) return 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!(std::abs(samples[i]) <= T(kAbsurd))) samples[i] = 0;
  }
  return bad;
}

// The weights libswresample mixes with; equal ones for layouts that it doesn't know.
std::vector<double> mix_weights(const AVChannelLayout& layout) {
  std::vector<double> weights(layout.nb_channels, 1.0 / layout.nb_channels);
  const AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  std::vector<double> matrix(64 * 65);  // libswresample 4 scales 64 rows, however many there are
  if (layout.order == AV_CHANNEL_ORDER_NATIVE &&
      swr_build_matrix2(&layout, &mono, M_SQRT1_2, M_SQRT1_2, 0.0, 1.0, 1.0, matrix.data(), layout.nb_channels,
                        AV_MATRIX_ENCODING_NONE, nullptr) >= 0) {
    weights.assign(matrix.begin(), matrix.begin() + layout.nb_channels);
  }
  return weights;
}

}  // namespace

bool Downmix::fits(const AVFrame& frame) const {
  return frame.format == format_ && frame.sample_rate == rate_ && frame.ch_layout.nb_channels == layout_.nb_channels &&
         (frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC ||
          av_channel_layout_compare(&frame.ch_layout, &layout_) == 0);
}

// Takes over a frame's format. As the ffmpeg program does, a change ends one resampler and starts another, and channels
// without places get the usual ones for their number.
void Downmix::adopt(const AVFrame& frame) {
  finish();
  format_ = static_cast<AVSampleFormat>(frame.format);
  rate_ = frame.sample_rate;
  av_channel_layout_uninit(&layout_);
  if (frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
    av_channel_layout_default(&layout_, frame.ch_layout.nb_channels);
  } else if (av_channel_layout_copy(&layout_, &frame.ch_layout) < 0) {
    throw std::bad_alloc();
  }
  weights_ = mix_weights(layout_);
  channel_ = wanted_ < layout_.nb_channels ? wanted_ : -1;
  open_resampler(channel_);
}

void Downmix::push(av::Frame frame, int64_t first) {
  if (!fits(*frame)) adopt(*frame);
  const auto packed = av_get_packed_sample_fmt(format_);
  if (packed == AV_SAMPLE_FMT_FLT || packed == AV_SAMPLE_FMT_DBL) {
    if (av_frame_make_writable(frame.get()) < 0) throw std::bad_alloc();
    const bool planar = av_sample_fmt_is_planar(format_) != 0;
    const int planes = planar ? layout_.nb_channels : 1;
    const int64_t n = int64_t{frame->nb_samples} * (planar ? 1 : layout_.nb_channels);
    for (int p = 0; p < planes; ++p) {
      cleaned_ += packed == AV_SAMPLE_FMT_FLT ? clean(reinterpret_cast<float*>(frame->extended_data[p]), n)
                                              : clean(reinterpret_cast<double*>(frame->extended_data[p]), n);
    }
  }
  queue(std::move(frame), first);
}

void Downmix::push_silence(const AVFrame& like, int64_t n) {
  if (rate_ == 0) adopt(like);
  while (n > 0) {
    av::Frame zeros(av_frame_alloc());
    if (!zeros) throw std::bad_alloc();
    zeros->format = format_;
    zeros->sample_rate = rate_;
    zeros->nb_samples = static_cast<int>(std::min<int64_t>(n, rate_ / 4));
    if (av_channel_layout_copy(&zeros->ch_layout, &layout_) < 0 || av_frame_get_buffer(zeros.get(), 0) < 0) {
      throw std::bad_alloc();
    }
    av_samples_set_silence(zeros->extended_data, 0, zeros->nb_samples, layout_.nb_channels, format_);
    n -= zeros->nb_samples;
    queue(std::move(zeros), 0);
  }
}

void Downmix::queue(av::Frame frame, int64_t first) {
  Piece piece{std::move(frame), first};
  if (layout_.nb_channels == 1 || (wanted_ >= 0 && channel_ == wanted_)) {
    convert(piece);
    return;
  }
  block_samples_ += piece.frame->nb_samples - first;
  block_.push_back(std::move(piece));
  if (block_samples_ >= rate_ / 2) finish_block();
}

void Downmix::finish_block() {
  if (block_.empty()) return;
  judge(measure());
  for (const Piece& piece : block_) convert(piece);
  block_.clear();
  block_samples_ = 0;
}

void Downmix::finish() {
  finish_block();
  close_resampler();
}

Downmix::Levels Downmix::measure() const {
  const int channels = layout_.nb_channels;
  Levels levels{std::vector<double>(channels), 0.0};
  std::vector<float> samples, mix;
  for (const Piece& piece : block_) {
    mix.assign(piece.frame->nb_samples - piece.first, 0.0f);
    for (int c = 0; c < channels; ++c) {
      if (!read_channel(*piece.frame, c, piece.first, samples)) continue;
      levels.channel[c] += bend_energy(samples);
      const float weight = static_cast<float>(weights_[c]);
      for (size_t i = 0; i < mix.size(); ++i) mix[i] += weight * samples[i];
    }
    levels.mix += bend_energy(mix);
  }
  const double density = static_cast<double>(rate_) / kSampleRate;  // where samples are denser they bend less
  const double scale = std::pow(density, 4) / static_cast<double>(block_samples_);
  for (double& level : levels.channel) level *= scale;
  levels.mix *= scale;
  return levels;
}

// Takes the loudest channel alone while the mix loses it; back to the mix when that has been good for a while, or at
// once if the sound is no longer in that channel.
void Downmix::judge(const Levels& levels) {
  const auto loudest = std::max_element(levels.channel.begin(), levels.channel.end());
  const double peak = *loudest;
  if (!(peak > kAudible)) return;
  int wanted = channel_;
  if (levels.mix < kLost * peak) {
    blocks_in_mix_ = 0;
    if (channel_ < 0 || peak > kLouder * levels.channel[channel_]) {
      wanted = static_cast<int>(loudest - levels.channel.begin());
    }
  } else if (channel_ >= 0 && levels.mix > kFound * peak) {
    const bool elsewhere = peak > kLouder * levels.channel[channel_];
    if (++blocks_in_mix_ >= kBlocksToReturn || elsewhere) wanted = -1;
  }
  if (wanted == channel_) return;
  close_resampler();
  channel_ = wanted;
  blocks_in_mix_ = 0;
  used_one_channel_ = true;
  open_resampler(channel_);
}

void Downmix::open_resampler(int channel) {
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  AVChannelLayout* from = channel < 0 ? &layout_ : &mono;
  SwrContext* context = nullptr;
  if (swr_alloc_set_opts2(&context, &mono, AV_SAMPLE_FMT_S16, kSampleRate, from, format_, rate_, 0, nullptr) < 0) {
    throw std::bad_alloc();
  }
  resampler_.reset(context);
  const bool known = channel >= 0 || layout_.order == AV_CHANNEL_ORDER_NATIVE;
  if (!known) swr_set_matrix(context, weights_.data(), layout_.nb_channels);
  const int rc = swr_init(context);
  if (rc < 0) {
    throw Error("can't convert " + std::to_string(layout_.nb_channels) + " channels at " + std::to_string(rate_) +
                " Hz to mono: " + av::error_text(rc));
  }
}

void Downmix::close_resampler() {
  if (!resampler_) return;
  resample(nullptr, 0);
  resampler_.reset();
}

void Downmix::convert(const Piece& piece) {
  const AVFrame& frame = *piece.frame;
  if (!resampler_) open_resampler(channel_);
  const int n = static_cast<int>(frame.nb_samples - piece.first);
  if (n <= 0) return;
  const bool planar = av_sample_fmt_is_planar(format_) != 0;
  const int channels = layout_.nb_channels, bytes = av_get_bytes_per_sample(format_);
  if (channel_ >= 0) {
    std::vector<uint8_t> alone(static_cast<size_t>(n) * bytes);
    const int stride = planar ? 1 : channels;
    const uint8_t* from =
        frame.extended_data[planar ? channel_ : 0] + (piece.first * stride + (planar ? 0 : channel_)) * bytes;
    for (int i = 0; i < n; ++i) std::memcpy(&alone[size_t(i) * bytes], from + int64_t{i} * stride * bytes, bytes);
    const uint8_t* plane = alone.data();
    resample(&plane, n);
    return;
  }
  std::vector<const uint8_t*> planes(planar ? channels : 1);
  for (size_t p = 0; p < planes.size(); ++p) {
    planes[p] = frame.extended_data[p] + piece.first * (planar ? 1 : channels) * bytes;
  }
  resample(planes.data(), n);
}

// n samples through the resampler; n = 0: what it still holds.
void Downmix::resample(const uint8_t* const* planes, int n) {
  constexpr int kChunk = 4096;
  for (;;) {
    const int64_t ready = n > 0 ? swr_get_out_samples(resampler_.get(), n) : kChunk;
    const size_t old = out_.size();
    out_.resize(old + ready);
    uint8_t* to = reinterpret_cast<uint8_t*>(out_.data() + old);
    const int got = swr_convert(resampler_.get(), &to, static_cast<int>(ready), const_cast<const uint8_t**>(planes), n);
    out_.resize(old + std::max(got, 0));
    if (got < 0) throw Error("the sound's sample rate can't be converted: " + av::error_text(got));
    if (n > 0 || got == 0) return;
  }
}

}  // namespace sotto
