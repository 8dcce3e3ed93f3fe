#include "audio/decode.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "audio/downmix.h"
#include "audio/source.h"
#include "audio/timeline.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {

namespace {

constexpr double kEarlyS = 0.25;  // a claimed length that is off by less is rounding or padding
constexpr double kRunUpS = 1.0;   // decoded before what is wanted, for codecs and the resampler to settle
constexpr double kFarS = 30.0;    // where it pays to leap there instead of decoding all that is before
constexpr double kSettledS = 0.5; // of the first frames

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", s);
  return text;
}

}  // namespace

struct Decoder::State {
  const std::string path;
  const DecodeOptions options;
  std::optional<Source> source;
  std::vector<int16_t> ready;  // converted, not yet given out
  Downmix downmix;
  Timeline timeline;
  av::Frame pending;  // its place is decided when the next frame is known
  bool started = false, leapt = false, ended = false;
  bool near = false;   // the run-up has begun: frames are converted
  int64_t at = 0;      // samples from the container's start to the first one in `ready`
  int64_t first, end;  // ... to the first that is wanted, and to the end of those
  double first_damage_s = 0.0;
  int64_t damage_seen = 0;
  bool told_one_channel = false, told_jump = false;
  std::vector<std::string> warnings;

  State(const std::string& path, const DecodeOptions& options)
      : path(path),
        options(options),
        source(std::in_place, path, options),
        downmix(ready, options.channel),
        timeline(source->declared_duration_s()),
        first(std::llround(options.start_s * kSampleRate)),
        end(options.end_s ? std::llround(*options.end_s * kSampleRate) : std::numeric_limits<int64_t>::max()) {
    const int channels = source->channels();
    if (options.channel >= channels)
      throw Error(source->name() + " has no channel " + std::to_string(options.channel + 1) + ": it has " +
                  (channels == 1 ? "one" : std::to_string(channels)));
  }

  void warn(const std::string& sentence) { warnings.push_back(source->name() + ": " + sentence); }

  // From the first frames, which have shown how stamps and samples go together, to the run-up of a stretch far from them.
  void leap() {
    leapt = true;
    const double to_s = options.start_s - kRunUpS;
    if (!pending || options.start_s < kFarS || !source->seek(to_s)) return;
    while ((pending = source->next())) {
      const auto stamp = source->stamp(*pending);
      if (!stamp) continue;
      if (static_cast<double>(*stamp) > to_s * pending->sample_rate) break;
      timeline.leap(pending->sample_rate, *stamp);
      return;
    }
    source.emplace(path, options);  // it went too far, or to nowhere: all before is decoded after all
    timeline = Timeline(source->declared_duration_s());
    pending = source->next();
  }

  // Takes one more frame in.
  void advance() {
    if (!started) pending = source->next(), started = true;
    if (!leapt && timeline.now_s() > kSettledS) leap();
    av::Frame next = pending ? source->next() : nullptr;
    if (source->damaged() > damage_seen) {
      if (damage_seen == 0) first_damage_s = timeline.now_s();
      damage_seen = source->damaged();
    }
    if (pending) place(std::move(pending), next.get());
    pending = std::move(next);
    if (!pending) finish();
    else if (at + std::ssize(ready) >= end) finish_wanted();
  }

  void place(av::Frame frame, const AVFrame* next) {
    std::optional<int64_t> next_stamp;
    if (next && next->sample_rate == frame->sample_rate) next_stamp = source->stamp(*next);
    const double at_s = timeline.now_s();
    Timeline::Placement placement =
        timeline.place(frame->sample_rate, frame->nb_samples, source->stamp(*frame), next_stamp);
    if (!near && !begin_run_up(*frame, placement)) return;
    if (std::abs(placement.broken_jump_s) > Timeline::kMaxOverlapS && !told_jump) {
      told_jump = true;
      warn("its clock jumps by " + seconds(placement.broken_jump_s) + " at " + seconds(at_s) +
           "; times after that count on from there");
    }
    if (placement.silence > 0) downmix.push_silence(*frame, placement.silence);
    if (placement.drop < frame->nb_samples) downmix.push(std::move(frame), placement.drop);
    if (downmix.used_one_channel() && !told_one_channel) {
      told_one_channel = true;
      warn("mixing its channels loses sound (they cancel each other out), so where it does the loudest one is used");
    }
  }

  // Whether the frame that was placed last belongs to the run-up or comes after it. The run-up begins where a sample at
  // 16 kHz lies on one of the input's, so that all samples are the same as with all the sound before them.
  bool begin_run_up(const AVFrame& frame, Timeline::Placement& placement) {
    const int rate = frame.sample_rate;
    if (timeline.now_s() <= options.start_s - kRunUpS) return false;
    int64_t place = timeline.now() - (frame.nb_samples - placement.drop) - placement.silence;
    if (placement.silence == 0) {
      const int64_t step = rate / std::gcd(rate, kSampleRate);
      const int64_t skip = (step - place % step) % step;
      placement.drop += skip;
      place += skip;
      if (placement.drop >= frame.nb_samples) return false;
    }
    at = place * kSampleRate / rate;
    near = true;
    return true;
  }

  // There is more, but nobody wants it.
  void finish_wanted() {
    downmix.finish();
    ended = true;
  }

  void finish() {
    finish_wanted();
    const double end_s = timeline.now_s();
    const auto claimed_s = source->claimed_end_s();
    const bool early = claimed_s && end_s < *claimed_s - kEarlyS;
    if (end_s == 0.0 && (source->damaged() > 0 || source->stopped_early() || early)) {
      throw Error(source->name() + " holds no sound that can be decoded: it is damaged or cut off");
    }
    if (source->damaged() > 0) {
      const int64_t n = source->damaged();
      warn("damaged: " + std::to_string(n) + (n == 1 ? " piece" : " pieces") + " of it could not be decoded, from " +
           seconds(first_damage_s) + " on");
    }
    if (early) warn("ends early: " + seconds(end_s) + " of " + seconds(*claimed_s));
    else if (source->stopped_early()) warn("can't be read beyond " + seconds(end_s) + ": " + source->read_error());
    if (options.start_s > 0 && end_s <= options.start_s) {
      warn("ends at " + seconds(end_s) + ", before the stretch that is wanted, which begins at " +
           seconds(options.start_s));
    }
    if (downmix.cleaned() > 0) {
      warn(std::to_string(downmix.cleaned()) + " samples are not numbers or absurdly large, and taken as silence");
    }
  }

  // What is ready, as far as it is wanted.
  void take(Pcm& out) {
    const int64_t drop = std::clamp<int64_t>(first - at, 0, std::ssize(ready));
    const int64_t keep = std::clamp<int64_t>(end - at - drop, 0, std::ssize(ready) - drop);
    out.start = at + drop - first;
    out.samples.resize(keep);
    for (int64_t i = 0; i < keep; ++i) out.samples[i] = ready[drop + i] * 0x1p-15f;
    at += std::ssize(ready);
    ready.clear();
  }
};

Decoder::Decoder(const std::string& path, const DecodeOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

Decoder::~Decoder() = default;

bool Decoder::read(Pcm& out) {
  State& s = *state_;
  do {
    while (!s.ended && s.ready.size() < kSampleRate) s.advance();
    s.take(out);
  } while (out.samples.empty() && !s.ended);
  return !out.samples.empty();
}

std::optional<double> Decoder::duration_s() const {
  const DecodeOptions& options = state_->options;
  auto end_s = state_->source->duration_s();
  if (options.end_s) end_s = std::min(end_s.value_or(*options.end_s), *options.end_s);
  if (end_s) *end_s = std::max(0.0, *end_s - options.start_s);
  return end_s;
}
int Decoder::audio_tracks() const { return state_->source->audio_tracks(); }
bool Decoder::seekable() const { return state_->source->regular_file(); }

std::vector<std::string> Decoder::take_warnings() {
  std::vector<std::string> taken;
  taken.swap(state_->warnings);
  return taken;
}

}  // namespace sotto
