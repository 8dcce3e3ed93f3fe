// libav's objects, owned: each handle frees what it holds.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libavutil/parseutils.h>
#include <libswresample/swresample.h>
}

#include <memory>
#include <string>

namespace sotto::av {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(&object);
  }
};

using Frame = std::unique_ptr<AVFrame, Deleter<av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, Deleter<av_packet_free>>;
using Format = std::unique_ptr<AVFormatContext, Deleter<avformat_close_input>>;
using Codec = std::unique_ptr<AVCodecContext, Deleter<avcodec_free_context>>;
using Resampler = std::unique_ptr<SwrContext, Deleter<swr_free>>;

inline std::string error_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

}  // namespace sotto::av
