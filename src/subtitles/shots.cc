#include "src/subtitles/shots.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "audio/av.h"
#include "models/error.h"
#include "models/utf8.h"
#include "src/subtitles/cue_file.h"
#include "src/subtitles/read_text_file.h"

namespace sotto {
namespace {

constexpr int kColumns = 64, kRows = 36;  // of a picture as it is compared
constexpr double kCut = 10;               // percent of the range from black to white

using Picture = std::array<double, kColumns * kRows>;  // brightness of each field, in percent

// The luma of a frame, or its green; small pictures have fields of one point. False for formats without either.
bool shrink(const AVFrame& frame, Picture& picture) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  constexpr uint64_t kUnreadable = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                                   AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT;
  if (!format || (format->flags & kUnreadable) || frame.width <= 0 || frame.height <= 0) return false;
  const AVComponentDescriptor& part = format->comp[format->flags & AV_PIX_FMT_FLAG_RGB ? 1 : 0];
  const int bytes = part.depth + part.shift > 8 ? 2 : 1;
  const double white = (1 << part.depth) - 1;
  const int step_x = std::max(1, frame.width / kColumns / 4), step_y = std::max(1, frame.height / kRows / 4);
  std::array<int, kColumns * kRows> n_points = {};
  picture.fill(0);
  for (int y = 0; y < frame.height; y += step_y) {
    const uint8_t* row = frame.data[part.plane] + int64_t{y} * frame.linesize[part.plane] + part.offset;
    for (int x = 0; x < frame.width; x += step_x) {
      const uint8_t* point = row + int64_t{x} * part.step;
      const int value = (bytes == 2 ? point[0] | point[1] << 8 : point[0]) >> part.shift & ((1 << part.depth) - 1);
      const int field = y * kRows / frame.height * kColumns + x * kColumns / frame.width;
      picture[field] += value * 100 / white;
      ++n_points[field];
    }
  }
  for (size_t i = 0; i < picture.size(); ++i)
    if (n_points[i] > 0) picture[i] /= n_points[i];
  return true;
}

double mean_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

// The frames of a file's best picture track.
class Video {
 public:
  explicit Video(const std::string& path) : path_(path) {
    AVFormatContext* opened = nullptr;
    const int code = avformat_open_input(&opened, ("file:" + path).c_str(), nullptr, nullptr);
    if (code < 0) throw Error(path + " can't be opened: " + av::error_text(code));
    format_.reset(opened);
    avformat_find_stream_info(opened, nullptr);
    const AVCodec* decoder = nullptr;
    index_ = av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
    if (index_ < 0 || (opened->streams[index_]->disposition & AV_DISPOSITION_ATTACHED_PIC))
      throw Error(path + " has no moving picture to find cuts in; leave --shots away or name a file of times");
    for (unsigned i = 0; i < opened->nb_streams; ++i)
      if (static_cast<int>(i) != index_) opened->streams[i]->discard = AVDISCARD_ALL;
    codec_.reset(avcodec_alloc_context3(decoder));
    avcodec_parameters_to_context(codec_.get(), opened->streams[index_]->codecpar);
    codec_->thread_count = 0;                      // one for each processor
    codec_->skip_loop_filter = AVDISCARD_ALL;      // cuts are seen without its smoothing
    if (avcodec_open2(codec_.get(), decoder, nullptr) < 0) throw Error(path + ": its picture can't be decoded");
  }

  // False at the end.
  bool next(AVFrame* frame) {
    while (avcodec_receive_frame(codec_.get(), frame) < 0) {
      if (ended_) return false;
      ended_ = av_read_frame(format_.get(), packet_.get()) < 0;
      if (ended_ || packet_->stream_index == index_) avcodec_send_packet(codec_.get(), ended_ ? nullptr : packet_.get());
      av_packet_unref(packet_.get());
    }
    return true;
  }

  // On the clock of the sound, which begins where the container does.
  double time_s(const AVFrame& frame) const {
    const double start_s = format_->start_time == AV_NOPTS_VALUE ? 0 : static_cast<double>(format_->start_time) / AV_TIME_BASE;
    return static_cast<double>(frame.best_effort_timestamp) * av_q2d(format_->streams[index_]->time_base) - start_s;
  }

 private:
  const std::string path_;
  av::Format format_;
  av::Codec codec_;
  const av::Packet packet_{av_packet_alloc()};
  int index_ = -1;
  bool ended_ = false;
};

}  // namespace

std::vector<int64_t> read_cuts_ms(const std::string& path) {
  std::vector<int64_t> cuts_ms;
  const std::string text = read_text_file(path);
  std::string_view content = text;
  for (int number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = strip(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.empty() || line.starts_with('#')) continue;
    size_t time_end = 0;
    const auto ms = parse_time_ms(line, time_end);
    if (!ms || *ms < 0)
      throw Error(path + ":" + std::to_string(number) + ": '" + std::string(line.substr(0, 40)) +
                  "' does not begin with a time, such as 83.4 or 00:01:23.400");
    cuts_ms.push_back(*ms);
  }
  std::ranges::sort(cuts_ms);
  return cuts_ms;
}

// A cut is where the picture differs much from the one before, and much more than that one did from its own
// predecessor: motion and fades differ alike from frame to frame.
std::vector<int64_t> find_cuts_ms(const std::string& path, const std::atomic<bool>& stop) {
  av_log_set_level(AV_LOG_QUIET);
  Video video(path);
  const av::Frame frame(av_frame_alloc());
  std::vector<int64_t> cuts_ms;
  Picture before, now;
  double difference_before = 0;
  for (bool first = true; !stop && video.next(frame.get()); first = false) {
    if (!shrink(*frame, now)) throw Error(path + ": its picture is of a kind that cuts can't be found in");
    const double difference = first ? 0 : mean_difference(before, now);
    if (difference - difference_before >= kCut)
      cuts_ms.push_back(std::llrint(video.time_s(*frame) * 1000));
    difference_before = difference;
    std::swap(before, now);
  }
  std::ranges::sort(cuts_ms);
  return cuts_ms;
}

}  // namespace sotto
