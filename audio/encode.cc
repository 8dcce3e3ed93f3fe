#include "audio/encode.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
}

#include <algorithm>
#include <memory>

#include "models/dims.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kBitRate = 24000;

void check(int status, const char* what) {
  if (status >= 0) return;
  char why[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(status, why, sizeof why);
  throw Error(std::string("the sound can't be compressed (") + what + ": " + why + "); link it instead");
}

class Encoder {
 public:
  Encoder() {
    const AVCodec* codec = avcodec_find_encoder_by_name("libopus");
    if (!codec) throw Error("this libav has no encoder for Opus; link the sound instead");
    codec_.reset(avcodec_alloc_context3(codec));
    codec_->sample_rate = kSampleRate;
    codec_->sample_fmt = AV_SAMPLE_FMT_FLT;
    codec_->bit_rate = kBitRate;
    codec_->time_base = {1, kSampleRate};
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(59, 24, 100)
    codec_->ch_layout = AV_CHANNEL_LAYOUT_MONO;
#else
    codec_->channels = 1;
    codec_->channel_layout = AV_CH_LAYOUT_MONO;
#endif
    AVFormatContext* format = nullptr;
    check(avformat_alloc_output_context2(&format, nullptr, "webm", nullptr), "WebM");
    format_.reset(format);
    if (format->oformat->flags & AVFMT_GLOBALHEADER) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    check(avcodec_open2(codec_.get(), codec, nullptr), "Opus");
    stream_ = avformat_new_stream(format, nullptr);
    if (!stream_) throw std::bad_alloc();
    stream_->time_base = codec_->time_base;
    check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "Opus");
    check(avio_open_dyn_buf(&format->pb), "memory");
    check(avformat_write_header(format, nullptr), "WebM");
    frame_.reset(av_frame_alloc());
    packet_.reset(av_packet_alloc());
  }
  ~Encoder() {
    if (!format_->pb) return;
    uint8_t* bytes = nullptr;
    avio_close_dyn_buf(format_->pb, &bytes);
    av_free(bytes);
  }

  void add(const std::vector<float>& samples) {
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    const auto size = static_cast<size_t>(codec_->frame_size);
    size_t at = 0;
    for (; waiting_.size() - at >= size; at += size) send(waiting_.data() + at, codec_->frame_size);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::string finish() {
    if (!waiting_.empty()) send(waiting_.data(), static_cast<int>(waiting_.size()));
    check(avcodec_send_frame(codec_.get(), nullptr), "Opus");
    receive();
    check(av_write_trailer(format_.get()), "WebM");
    uint8_t* bytes = nullptr;
    const int n = avio_close_dyn_buf(format_->pb, &bytes);
    format_->pb = nullptr;
    const std::string file(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
    av_free(bytes);
    return file;
  }

 private:
  void send(const float* samples, int n) {
    av_frame_unref(frame_.get());
    frame_->nb_samples = n;
    frame_->format = codec_->sample_fmt;
    frame_->sample_rate = kSampleRate;
    frame_->pts = n_sent_;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(59, 24, 100)
    check(av_channel_layout_copy(&frame_->ch_layout, &codec_->ch_layout), "Opus");
#else
    frame_->channels = 1;
    frame_->channel_layout = AV_CH_LAYOUT_MONO;
#endif
    check(av_frame_get_buffer(frame_.get(), 0), "Opus");
    std::copy(samples, samples + n, reinterpret_cast<float*>(frame_->data[0]));
    n_sent_ += n;
    check(avcodec_send_frame(codec_.get(), frame_.get()), "Opus");
    receive();
  }

  void receive() {
    for (int status = 0;;) {
      status = avcodec_receive_packet(codec_.get(), packet_.get());
      if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return;
      check(status, "Opus");
      packet_->stream_index = 0;
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
      check(av_interleaved_write_frame(format_.get(), packet_.get()), "WebM");
    }
  }

  struct Free {
    void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
    void operator()(AVFormatContext* format) const { avformat_free_context(format); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };
  std::unique_ptr<AVCodecContext, Free> codec_;
  std::unique_ptr<AVFormatContext, Free> format_;
  std::unique_ptr<AVFrame, Free> frame_;
  std::unique_ptr<AVPacket, Free> packet_;
  AVStream* stream_ = nullptr;
  std::vector<float> waiting_;
  int64_t n_sent_ = 0;
};

}  // namespace

std::string encode_opus(const std::function<bool(Pcm&)>& read) {
  Encoder encoder;
  for (Pcm pcm; read(pcm);) encoder.add(pcm.samples);
  return encoder.finish();
}

}  // namespace sotto
