#include "audio/source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "audio/wav_length.h"
#include "models/error.h"

namespace sotto {

namespace {

// Rates outside are damage, not sound: the highest is above DSD512's.
constexpr int kMinRate = 1000, kMaxRate = 3'000'000, kMaxChannels = 64;
constexpr double kMaxWarmUpS = 0.5;

constexpr std::string_view kRawHint = "--raw s16le:16000:1 (sample format:rate:channels)";

// libav's formats that have no header, so everything about them is a guess.
constexpr std::array<std::string_view, 22> kRawFormats = {
    "alaw",  "mulaw", "vidc",  "f64be", "f64le", "f32be", "f32le", "s32be", "s32le", "s24be", "s24le",
    "s16be", "s16le", "s8",    "u32be", "u32le", "u24be", "u24le", "u16be", "u16le", "u8",    "sln"};
constexpr std::array<std::string_view, 9> kRawEndings = {"raw", "pcm", "alaw", "ulaw", "mulaw",
                                                         "al",  "ul",  "sw",   "s16"};

// What a path that is no file may start with. Nothing else opens the network, or files by another name.
constexpr std::array<std::string_view, 12> kUrlSchemes = {"http", "https", "ftp",  "rtmp", "rtmps", "rtsp",
                                                          "rtp",  "udp",   "tcp",  "tls",  "srt",   "mmsh"};
constexpr const char* kUrlProtocols = "http,https,httpproxy,ftp,rtmp,rtmps,rtsp,rtp,udp,tcp,tls,srt,mmsh,crypto,data";

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_url(std::string_view path) {
  const size_t colon = path.find("://");
  return colon != path.npos && contains(kUrlSchemes, path.substr(0, colon));
}

std::string ending(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == path.npos || path.find('/', dot) != path.npos) return "";
  std::string lower = path.substr(dot + 1);
  for (char& c : lower) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

struct RawSpec {
  std::string format;
  int rate = 0, channels = 1;
};

RawSpec parse_raw(const std::string& spec) {
  std::vector<std::string> parts(1);
  for (char c : spec) {
    if (c == ':') parts.emplace_back();
    else parts.back() += c;
  }
  const auto number = [](const std::string& text, int low, int high) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= low && value <= high ? value : -1;
  };
  const std::string usage = "; write it as sample format:rate:channels, for example s16le:8000:1";
  if (parts.size() < 2 || parts.size() > 3) {
    throw Error("headerless sound can't be described by \"" + spec + "\"" + usage);
  }
  RawSpec raw{parts[0], number(parts[1], kMinRate, kMaxRate)};
  raw.channels = parts.size() == 3 ? number(parts[2], 1, kMaxChannels) : 1;
  if (!contains(kRawFormats, raw.format)) {
    throw Error("there is no sample format \"" + raw.format + "\" in \"" + spec + "\": use s16le, s16be, u8, s24le, "
                "s32le, f32le, f64le, alaw, mulaw or one of ffmpeg's other PCM formats");
  }
  if (raw.rate < 0) {
    throw Error("\"" + parts[1] + "\" in \"" + spec + "\" is no sample rate from " + std::to_string(kMinRate) + " to " +
                std::to_string(kMaxRate) + " Hz" + usage);
  }
  if (raw.channels < 0) {
    throw Error("\"" + parts[2] + "\" in \"" + spec + "\" is no number of channels from 1 to " +
                std::to_string(kMaxChannels) + usage);
  }
  return raw;
}

}  // namespace

void check_raw(const std::string& raw) { parse_raw(raw); }

Source::Source(const std::string& path, const DecodeOptions& options)
    : path_(path), name_(path == "-" ? "standard input" : path), stop_(options.stop) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  std::string url = "file:" + path;  // so that a colon in a file's name means nothing
  struct stat status = {};
  if (path == "-") {
    url = "pipe:0";
    if (fstat(0, &status) != 0) throw Error("standard input is closed: there is nothing to read from it");
    regular_file_ = S_ISREG(status.st_mode) && lseek(0, 0, SEEK_CUR) == 0;
    if (regular_file_) url = "file:/dev/stdin";  // opened anew, it can seek
  } else if (stat(path.c_str(), &status) != 0) {
    local_ = !is_url(path);
    if (local_) throw Error(path + " can't be opened: " + std::strerror(errno));
    url = path;
  } else if (S_ISDIR(status.st_mode)) {
    throw Error(path + " is a folder: name the files in it");
  } else if (access(path.c_str(), R_OK) != 0) {
    throw Error(path + " can't be opened: " + std::strerror(errno));
  } else {
    regular_file_ = S_ISREG(status.st_mode);
  }
  if (S_ISREG(status.st_mode) && status.st_size == 0) throw Error(name_ + " is empty: it has 0 bytes");
  open(url, options);
  check_probe(options);
  choose_stream(options.audio_track);
  open_codec();
  packet_.reset(av_packet_alloc());
  if (!packet_) throw std::bad_alloc();
}

int Source::interrupted(void* self) {
  const auto* stop = static_cast<Source*>(self)->stop_;
  return stop && stop->load(std::memory_order_relaxed);
}

// A file may name others (playlists, references): only the input itself is ever opened.
int Source::open_only_once(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                           AVDictionary** options) {
  auto* self = static_cast<Source*>(context->opaque);
  if (self->opened_once_) return AVERROR(EACCES);
  self->opened_once_ = true;
  return self->open_io_(context, io, url, flags, options);
}

void Source::refuse_interrupted() const {
  if (stop_ && *stop_) throw Error(name_ + ": reading was interrupted");
}

void Source::open(const std::string& url, const DecodeOptions& options) {
  AVFormatContext* context = avformat_alloc_context();
  if (!context) throw std::bad_alloc();
  context->interrupt_callback = {&Source::interrupted, this};
  const AVInputFormat* input = nullptr;
  AVDictionary* settings = nullptr;
  av_dict_set(&settings, "scan_all_pmts", "1", 0);
  if (local_) {
    context->opaque = this;
    open_io_ = context->io_open;
    context->io_open = &Source::open_only_once;
    if (!regular_file_) {
      pipe_ = std::make_unique<PipeInput>(path_, name_, stop_);
      context->pb = pipe_->io();
      opened_once_ = true;
    }
  } else {
    av_dict_set(&settings, "protocol_whitelist", kUrlProtocols, 0);
  }
  if (!options.raw.empty()) {
    const RawSpec raw = parse_raw(options.raw);
    input = av_find_input_format(raw.format.c_str());
    if (!input) throw Error("this machine's libav doesn't know the sample format " + raw.format);
    av_dict_set_int(&settings, "sample_rate", raw.rate, 0);
    av_dict_set_int(&settings, "channels", raw.channels, 0);
  }
  const int rc = avformat_open_input(&context, url.c_str(), input, &settings);
  av_dict_free(&settings);
  if (rc < 0) refuse_unopened(rc, options);
  format_.reset(context);
  if (index_came_last()) {
    throw Error(name_ + " can't be read from a pipe because its index is at the end, after the sound: " +
                "give the file's name instead");
  }
  // Of headerless sound all is known, and a pipe would have to bring half a second of it first. A failure shows as a stream
  // without parameters.
  if (options.raw.empty() || regular_file_) avformat_find_stream_info(context, nullptr);
  refuse_interrupted();
}

// MP4 and its kin say where the sound lies in an index. Behind the sound it comes too late for what can't go back.
bool Source::index_came_last() const {
  if ((format_->pb->seekable & AVIO_SEEKABLE_NORMAL) || !std::string_view(format_->iformat->name).starts_with("mov")) {
    return false;
  }
  const AVIOContext& io = *format_->pb;
  const int64_t still_buffered = avio_tell(format_->pb) - (io.buf_ptr - io.buffer);
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    const AVIndexEntry* first = avformat_index_get_entry(format_->streams[i], 0);
    if (first && first->pos < still_buffered) return true;
  }
  return false;
}

void Source::refuse_url(int code) const {
  if (code == AVERROR_PROTOCOL_NOT_FOUND) {
    throw Error(name_ + " can't be opened: this machine's libav doesn't know such addresses; download the file first");
  }
  if (code == AVERROR(EIO)) throw Error(name_ + " can't be reached: check the address and the network");
  throw Error(name_ + " can't be opened: " + av::error_text(code));
}

void Source::refuse_unopened(int code, const DecodeOptions& options) const {
  refuse_interrupted();
  if (pipe_ && pipe_->empty()) throw Error(name_ + " is empty");
  if (!local_ && code != AVERROR_INVALIDDATA) refuse_url(code);
  if (code != AVERROR_INVALIDDATA && code != AVERROR_EOF && code != AVERROR(EINVAL)) {
    throw Error(name_ + " can't be opened: " + av::error_text(code));
  }
  if (options.raw.empty() && contains(kRawEndings, ending(path_))) {
    throw Error(name_ + " has no header that says how it was recorded: if it is headerless sound, describe it, as in " +
                std::string(kRawHint));
  }
  throw Error(name_ + " holds no sound that can be decoded: " +
              (regular_file_ ? "it is no audio or video file, or its header is damaged or cut off"
                             : "it is no audio or video, or its index is at the end, out of a pipe's reach"));
}

// Formats without a header are recognised by the file's name alone, with a rate that is only a guess; so are noises
// that happen to look like one. Better a question than a transcript at the wrong speed.
void Source::check_probe(const DecodeOptions& options) const {
  if (!options.raw.empty() || !local_) return;
  const std::string_view format = format_->iformat->name;
  const bool headerless = contains(kRawFormats, format) && format != "sln";
  if (headerless || (contains(kRawEndings, ending(path_)) && format_->probe_score <= AVPROBE_SCORE_EXTENSION)) {
    throw Error(name_ + " has no header that says how it was recorded: describe it, as in " + std::string(kRawHint));
  }
  if (format == "hls" || format == "concat" || format == "dash" || format == "sdp") {
    throw Error(name_ + " is a list of other files or streams, not sound: name those instead");
  }
}

void Source::choose_stream(int audio_track) {
  std::vector<AVStream*> tracks;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    AVStream* stream = format_->streams[i];
    if (stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) tracks.push_back(stream);
    stream->discard = AVDISCARD_ALL;
  }
  audio_tracks_ = static_cast<int>(tracks.size());
  if (tracks.empty()) {
    throw Error(name_ + (format_->nb_streams > 0 ? " holds no sound: it has no audio track"
                                                 : " holds no sound that can be decoded"));
  }
  if (audio_track >= static_cast<int>(tracks.size())) {
    const std::string n = std::to_string(tracks.size()) + (tracks.size() == 1 ? " audio track" : " audio tracks");
    throw Error(name_ + " has no audio track " + std::to_string(audio_track) + ": it has " + n + ", numbered from 0");
  }
  if (audio_track >= 0) {
    stream_ = tracks[audio_track];
  } else {
    // The ffmpeg program's choice: a stream with packets, the default one, the most channels, the first.
    const auto score = [](const AVStream* s) {
      return (s->event_flags & AVSTREAM_EVENT_FLAG_NEW_PACKETS ? 100'000'000 : 0) +
             (s->disposition & AV_DISPOSITION_DEFAULT ? 5'000'000 : 0) + s->codecpar->ch_layout.nb_channels;
    };
    stream_ = *std::max_element(tracks.begin(), tracks.end(),
                                [&](const AVStream* a, const AVStream* b) { return score(a) < score(b); });
  }
  stream_->discard = AVDISCARD_DEFAULT;
}

void Source::open_codec() {
  const AVCodecParameters& parameters = *stream_->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  if (!codec) {
    throw Error(name_ + " holds sound in a format (" + avcodec_get_name(parameters.codec_id) +
                ") that this machine's libav can't decode: convert it first");
  }
  const auto range = [&](const std::string& what) {
    throw Error(name_ + " holds no sound that can be decoded: its header claims " + what);
  };
  const int rate = parameters.sample_rate, channels = parameters.ch_layout.nb_channels;
  if (channels < 1 || channels > kMaxChannels) range(std::to_string(channels) + " channels");
  if (rate < kMinRate || rate > kMaxRate) range("a sample rate of " + std::to_string(rate) + " Hz");
  codec_.reset(avcodec_alloc_context3(codec));
  if (!codec_) throw std::bad_alloc();
  int rc = avcodec_parameters_to_context(codec_.get(), &parameters);
  codec_->pkt_timebase = stream_->time_base;
  codec_->thread_count = 1;
  if (rc >= 0) rc = avcodec_open2(codec_.get(), codec, nullptr);
  if (rc < 0) {
    throw Error(name_ + " holds no sound that can be decoded: its " + std::string(codec->name) +
                " stream is damaged (" + av::error_text(rc) + ")");
  }
}

// The next packet of our stream to the decoder; after the last one, the order to give out what it still holds.
bool Source::send_packet() {
  for (;;) {
    av_packet_unref(packet_.get());
    const int rc = av_read_frame(format_.get(), packet_.get());
    if (rc == AVERROR(EAGAIN)) continue;
    if (rc < 0) {
      // What was heard until a stop is there to be used: it ends the sound, as the sound's end does.
      if (rc != AVERROR_EOF && !(stop_ && *stop_)) read_error_ = rc;
      draining_ = true;
      return avcodec_send_packet(codec_.get(), nullptr) >= 0;
    }
    if (packet_->stream_index != stream_->index) continue;
    if (!got_frame_ && packets_to_first_frame_++ == 0) first_packet_ = packet_->pts;
    const int sent = avcodec_send_packet(codec_.get(), packet_.get());
    if (sent == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (sent < 0 && sent != AVERROR_EOF) note_damage();
    if (sent >= 0) return true;
  }
}

// PCM can't be damaged; all that fails there is a last sample that isn't whole.
void Source::note_damage() {
  if (!std::string_view(codec_->codec->name).starts_with("pcm_")) ++damaged_;
}

// Some decoders take in a packet or two before they give out the first frame, with the stamp of the latest packet.
// That is no silence; but beside a picture the stamps are right.
void Source::note_first(const AVFrame& frame) {
  got_frame_ = true;
  if (packets_to_first_frame_ < 2 || damaged_ > 0 || format_->nb_streams > 1) return;
  if (frame.pts == AV_NOPTS_VALUE || first_packet_ == AV_NOPTS_VALUE) return;
  const double late_s = static_cast<double>(frame.pts - first_packet_) * av_q2d(stream_->time_base);
  if (late_s > 0.0 && late_s < kMaxWarmUpS) warm_up_ = frame.pts - first_packet_;
}

av::Frame Source::next() {
  av::Frame frame(av_frame_alloc());
  if (!frame) throw std::bad_alloc();
  for (;;) {
    const int rc = avcodec_receive_frame(codec_.get(), frame.get());
    if (rc == AVERROR_EOF) return nullptr;
    if (rc == AVERROR(EAGAIN)) {
      if (draining_ || !send_packet()) return nullptr;
    } else if (rc < 0) {
      note_damage();
      if (draining_) return nullptr;
    } else if (frame->nb_samples > 0 && frame->sample_rate >= kMinRate && frame->sample_rate <= kMaxRate &&
               frame->ch_layout.nb_channels >= 1 && frame->ch_layout.nb_channels <= kMaxChannels) {
      if (!got_frame_) note_first(*frame);
      return frame;
    }
  }
}

// Of other formats libav guesses the place from the bit rate, or counts from there anew; in Ogg it knows Vorbis' places
// only at the ends of pages.
bool Source::seek(double to_s) {
  constexpr std::array<std::string_view, 8> kExact = {"wav", "w64",  "flac", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm",
                                                      "ogg", "aiff", "caf"};
  const std::string_view format = format_->iformat->name;
  if (!regular_file_ || !(contains(kExact, format) || contains(kRawFormats, format))) return false;
  if (format == "ogg" && codec_->codec_id == AV_CODEC_ID_VORBIS) return false;
  const int64_t us = start_us() + std::llround(to_s * AV_TIME_BASE);
  const int64_t at = av_rescale_q(us, AV_TIME_BASE_Q, stream_->time_base);
  if (av_seek_frame(format_.get(), stream_->index, at, AVSEEK_FLAG_BACKWARD) < 0) return false;
  avcodec_flush_buffers(codec_.get());
  draining_ = false;
  return true;
}

std::optional<int64_t> Source::stamp(const AVFrame& frame) const {
  constexpr int64_t kSaneS = 1LL << 31;
  if (frame.pts == AV_NOPTS_VALUE) return std::nullopt;
  const AVRational rate = {1, frame.sample_rate};
  const int64_t start = start_us();
  const int64_t pts = av_sat_sub64(frame.pts, warm_up_);
  const int64_t us = av_rescale_q(pts, stream_->time_base, AV_TIME_BASE_Q);
  if (std::max(std::abs(us / AV_TIME_BASE), std::abs(start / AV_TIME_BASE)) > kSaneS) return std::nullopt;
  return av_rescale_q(pts, stream_->time_base, rate) - av_rescale_q(start, AV_TIME_BASE_Q, rate);
}

int64_t Source::start_us() const { return format_->start_time == AV_NOPTS_VALUE ? 0 : format_->start_time; }

std::optional<double> Source::declared_duration_s() const {
  return format_->duration_estimation_method == AVFMT_DURATION_FROM_STREAM ? duration_s() : std::nullopt;
}

std::optional<double> Source::duration_s() const {
  if (format_->duration == AV_NOPTS_VALUE || format_->duration <= 0) return std::nullopt;
  return static_cast<double>(format_->duration) / AV_TIME_BASE;
}

std::optional<double> Source::claimed_end_s() const {
  const std::string_view format = format_->iformat->name;
  if (regular_file_ && format == "wav") {
    if (const auto claimed = wav_length_s(path_ == "-" ? "/dev/stdin" : path_)) return claimed;
  }
  if (format_->duration_estimation_method != AVFMT_DURATION_FROM_STREAM) return std::nullopt;
  if (format == "avi") return std::nullopt;  // counts a late start in, which the stamps leave out
  if (stream_->duration > 0) return static_cast<double>(stream_->duration) * av_q2d(stream_->time_base);
  int64_t us = 0;  // Matroska says it in a tag for each track
  const AVDictionaryEntry* tag = av_dict_get(stream_->metadata, "DURATION", nullptr, 0);
  if (tag && av_parse_time(&us, tag->value, 1) >= 0) return static_cast<double>(us - start_us()) / AV_TIME_BASE;
  if (format_->nb_streams == 1) return duration_s();
  return std::nullopt;
}

}  // namespace sotto
