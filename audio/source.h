// One audio stream of a file, pipe or URL, opened and decoded by libav, frame after frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "audio/av.h"
#include "audio/decode.h"
#include "audio/pipe_input.h"

namespace sotto {

class Source {
 public:
  // Throws Error with one sentence for what can't be opened or holds no sound.
  Source(const std::string& path, const DecodeOptions& options);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The next frame of at least one sample; null at the end. What can't be decoded is counted and skipped.
  av::Frame next();

  // Goes to a place at or before a time since the container's start, from which frames' stamps are exact. False where
  // the input has no such places; then nothing has changed.
  bool seek(double to_s);

  // The frame's time since the container's start, in samples at its own rate; nothing if it has no stamp.
  std::optional<int64_t> stamp(const AVFrame& frame) const;

  const std::string& name() const { return name_; }  // as sentences name the input
  int audio_tracks() const { return audio_tracks_; }
  int channels() const { return codec_->ch_layout.nb_channels; }
  bool regular_file() const { return regular_file_; }
  int64_t damaged() const { return damaged_; }  // packets that could not be decoded
  bool stopped_early() const { return read_error_ < 0; }  // reading failed before the end
  std::string read_error() const { return av::error_text(read_error_); }
  std::optional<double> duration_s() const;               // of the whole container, also if only estimated
  std::optional<double> declared_duration_s() const;      // only if its header says it
  std::optional<double> claimed_end_s() const;            // where the stream says that it ends, if it can be trusted

 private:
  void open(const std::string& url, const DecodeOptions& options);
  [[noreturn]] void refuse_unopened(int code, const DecodeOptions& options) const;
  [[noreturn]] void refuse_url(int code) const;
  bool index_came_last() const;
  void check_probe(const DecodeOptions& options) const;
  void choose_stream(int audio_track);
  void open_codec();
  bool send_packet();
  int64_t start_us() const;
  void note_damage();
  void note_first(const AVFrame& frame);
  static int interrupted(void* self);
  void refuse_interrupted() const;
  static int open_only_once(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                            AVDictionary** options);

  std::string path_, name_;
  const std::atomic<bool>* stop_ = nullptr;
  bool regular_file_ = false;
  bool local_ = true;
  bool opened_once_ = false;
  int (*open_io_)(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) = nullptr;
  std::unique_ptr<PipeInput> pipe_;  // null: a regular file, or a URL
  av::Format format_;
  av::Codec codec_;
  av::Packet packet_;
  AVStream* stream_ = nullptr;
  int audio_tracks_ = 0;
  bool draining_ = false;
  int packets_to_first_frame_ = 0;
  bool got_frame_ = false;
  int64_t first_packet_ = AV_NOPTS_VALUE;  // its stamp, in the stream's time base
  int64_t warm_up_ = 0;                    // by how much frames' stamps are late, in the stream's time base
  int64_t damaged_ = 0;
  int read_error_ = 0;
};

}  // namespace sotto
