#include "audio/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <system_error>
#include <utility>

#include "audio/av.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {
namespace {

constexpr int kBits = 24;
constexpr auto kRetry = std::chrono::milliseconds(200);

struct FreeOutput {
  void operator()(AVFormatContext* output) const {
    if (output->pb) {
      av_freep(&output->pb->buffer);
      avio_context_free(&output->pb);
    }
    avformat_free_context(output);
  }
};

// 24 bits at the upper end of 32, as libav has them.
int32_t sample_of(float value) {
  constexpr float kScale = 1 << (kBits - 1);
  const float scaled = std::isfinite(value) ? std::clamp(value * kScale, -kScale, kScale - 1) : 0.0f;
  return static_cast<int32_t>(std::lrint(scaled)) * (1 << (32 - kBits));
}

std::string seconds(uint64_t samples) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(samples) / kSampleRate);
  return text;
}

}  // namespace

// The encoder, the container and the file below them.
class Recorder::File {
 public:
  // trouble: told when writing fails, with the error's text; whether to try again.
  File(const std::string& path, std::function<bool(const std::string&)> trouble)
      : path_(path), trouble_(std::move(trouble)), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (fd_ < 0 && errno == EEXIST)
      throw Error(path + " is there already; recordings are not written over, so name another file");
    if (fd_ < 0) throw Error("cannot write " + path + ": " + std::generic_category().message(errno));
    open_encoder();
    open_container();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }

  void push(float value) {
    if (filled_ == 0) require(av_frame_make_writable(frame_.get()));
    reinterpret_cast<int32_t*>(frame_->data[0])[filled_++] = sample_of(value);
    if (filled_ == codec_->frame_size) send_frame();
  }

  void finish() {
    if (filled_ > 0) send_frame();
    require(avcodec_send_frame(codec_.get(), nullptr));
    write_packets();
    av_write_trailer(output_.get());
  }

 private:
  void require(int code) const {
    if (code < 0) throw Error("cannot write " + path_ + ": " + av::error_text(code));
  }

  void open_encoder() {
    const AVCodec* flac = avcodec_find_encoder(AV_CODEC_ID_FLAC);
    if (!flac) throw Error("cannot write " + path_ + ": the installed FFmpeg libraries have no FLAC encoder");
    codec_.reset(avcodec_alloc_context3(flac));
    codec_->sample_fmt = AV_SAMPLE_FMT_S32;
    codec_->bits_per_raw_sample = kBits;
    codec_->sample_rate = kSampleRate;
    codec_->time_base = {1, kSampleRate};
    av_channel_layout_default(&codec_->ch_layout, 1);
    require(avcodec_open2(codec_.get(), flac, nullptr));
    frame_.reset(av_frame_alloc());
    frame_->format = codec_->sample_fmt;
    frame_->sample_rate = kSampleRate;
    frame_->nb_samples = codec_->frame_size;
    av_channel_layout_default(&frame_->ch_layout, 1);
    require(av_frame_get_buffer(frame_.get(), 0));
    packet_.reset(av_packet_alloc());
  }

  void open_container() {
    AVFormatContext* output = nullptr;
    require(avformat_alloc_output_context2(&output, nullptr, "flac", nullptr));
    output_.reset(output);
    constexpr int kBuffer = 1 << 15;
    output->pb = avio_alloc_context(static_cast<unsigned char*>(av_malloc(kBuffer)), kBuffer, 1, this, nullptr, &File::write,
                                    &File::seek);
    output->flags |= AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_CUSTOM_IO;
    AVStream* stream = avformat_new_stream(output, nullptr);
    require(avcodec_parameters_from_context(stream->codecpar, codec_.get()));
    stream->time_base = codec_->time_base;
    require(avformat_write_header(output, nullptr));
    avio_flush(output->pb);
  }

  void send_frame() {
    frame_->nb_samples = std::exchange(filled_, 0);
    frame_->pts = samples_;
    samples_ += frame_->nb_samples;
    require(avcodec_send_frame(codec_.get(), frame_.get()));
    write_packets();
    frame_->nb_samples = codec_->frame_size;
  }

  void write_packets() {
    for (;;) {
      const int code = avcodec_receive_packet(codec_.get(), packet_.get());
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
      require(code);
      const int written = av_write_frame(output_.get(), packet_.get());
      av_packet_unref(packet_.get());
      require(written);
    }
  }

#if LIBAVFORMAT_VERSION_MAJOR >= 61
  using Bytes = const uint8_t*;
#else
  using Bytes = uint8_t*;
#endif

  static int write(void* self, Bytes bytes, int length) {
    const File& file = *static_cast<File*>(self);
    for (int done = 0; done < length;) {
      const ssize_t written = ::write(file.fd_, bytes + done, static_cast<size_t>(length - done));
      if (written > 0) {
        done += static_cast<int>(written);
        continue;
      }
      const int error = written < 0 ? errno : ENOSPC;
      if (error == EINTR) continue;
      if (!file.trouble_(std::generic_category().message(error))) return AVERROR(error);
      std::this_thread::sleep_for(kRetry);
    }
    return length;
  }

  static int64_t seek(void* self, int64_t offset, int whence) {
    if (whence & AVSEEK_SIZE) return AVERROR(ENOSYS);
    const off_t at = ::lseek(static_cast<File*>(self)->fd_, offset, whence & ~AVSEEK_FORCE);
    return at < 0 ? AVERROR(errno) : at;
  }

  const std::string path_;
  const std::function<bool(const std::string&)> trouble_;
  const int fd_;
  av::Codec codec_;
  av::Frame frame_;
  av::Packet packet_;
  std::unique_ptr<AVFormatContext, FreeOutput> output_;
  int filled_ = 0;       // samples of the frame
  int64_t samples_ = 0;  // before it
};

Recorder::Recorder(const std::string& path) : path_(path), ring_(kRing) {
  bool told = false;
  file_ = std::make_unique<File>(path, [this, told](const std::string& error) mutable {
    if (!std::exchange(told, true)) tell("cannot write " + path_ + ": " + error + "; trying again");
    return !ended_;
  });
  thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
  try {
    finish();
  } catch (const Error&) {  // whoever wanted to know has called finish
  }
}

void Recorder::write(std::span<const float> samples) {
  if (ended_) return;
  const uint64_t at = written_;
  const uint64_t room = kRing - (at - encoded_.load(std::memory_order_acquire));
  if (gap_.length > 0 && room >= samples.size()) publish_gap();
  if (gap_.length > 0 || room < samples.size()) {
    gap_.at = at;
    gap_.length += samples.size();
    return;
  }
  for (size_t i = 0; i < samples.size(); ++i) ring_[(at + i) % kRing] = samples[i];
  written_.store(at + samples.size(), std::memory_order_release);
  ++news_;
  news_.notify_one();
}

// A gap that nothing more will be added to; if even those are too many, it goes on.
void Recorder::publish_gap() {
  const uint64_t n = gaps_written_;
  if (gap_.length == 0 || n - gaps_read_.load(std::memory_order_acquire) == gaps_.size()) return;
  gaps_[n % gaps_.size()] = std::exchange(gap_, Gap());
  gaps_written_.store(n + 1, std::memory_order_release);
}

std::vector<std::string> Recorder::take_notices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void Recorder::finish() {
  if (!thread_.joinable()) return;
  publish_gap();
  ended_ = true;
  ++news_;
  news_.notify_one();
  thread_.join();
  if (!incomplete_.empty()) throw Error(incomplete_);
}

void Recorder::tell(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  notices_.push_back(sentence);
}

void Recorder::run() {
  try {
    for (bool last = false; !last;) {
      const uint32_t news = news_;
      last = ended_;  // read before what there is: nothing comes after it
      encode(written_.load(std::memory_order_acquire));
      if (!last) news_.wait(news);
    }
    file_->finish();
  } catch (const Error& error) {
    incomplete_ = std::string(error.what()) + "; the end of the recording is missing";
    tell(incomplete_);
  }
}

void Recorder::encode(uint64_t end) {
  const uint64_t n_gaps = gaps_written_.load(std::memory_order_acquire);
  for (uint64_t at = encoded_; at <= end; ++at) {
    for (uint64_t gap = gaps_read_; gap < n_gaps && gaps_[gap % gaps_.size()].at == at; ++gap) {
      const uint64_t length = gaps_[gap % gaps_.size()].length;
      for (uint64_t i = 0; i < length; ++i) file_->push(0);
      gaps_read_.store(gap + 1, std::memory_order_release);
      incomplete_ = path_ + " has silence where the disk was too slow: " + seconds(length);
      tell(incomplete_);
    }
    if (at == end) break;
    file_->push(ring_[at % kRing]);
    if (at % 1024 == 1023 || at + 1 == end) encoded_.store(at + 1, std::memory_order_release);
  }
}

}  // namespace sotto
