#include "audio/decode.h"

#include <cmath>
#include <cstdio>

#include "audio/downmix.h"
#include "audio/source.h"
#include "audio/timeline.h"
#include "models/dims.h"
#include "models/error.h"

namespace sotto {

namespace {

constexpr double kEarlyS = 0.25;  // a claimed length that is off by less is rounding or padding

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", s);
  return text;
}

}  // namespace

struct Decoder::State {
  Source source;
  std::vector<int16_t> ready;  // converted, not yet given out
  Downmix downmix;
  Timeline timeline;
  av::Frame pending;  // its place is decided when the next frame is known
  bool started = false, ended = false;
  int64_t given = 0;  // samples
  double first_damage_s = 0.0;
  int64_t damage_seen = 0;
  bool told_one_channel = false, told_jump = false;
  std::vector<std::string> warnings;

  State(const std::string& path, const DecodeOptions& options)
      : source(path, options), downmix(ready), timeline(source.declared_duration_s()) {}

  void warn(const std::string& sentence) { warnings.push_back(source.name() + ": " + sentence); }

  // Takes one more frame in.
  void advance() {
    if (!started) pending = source.next(), started = true;
    av::Frame next = pending ? source.next() : nullptr;
    if (source.damaged() > damage_seen) {
      if (damage_seen == 0) first_damage_s = timeline.now_s();
      damage_seen = source.damaged();
    }
    if (pending) place(std::move(pending), next.get());
    pending = std::move(next);
    if (!pending) finish();
  }

  void place(av::Frame frame, const AVFrame* next) {
    std::optional<int64_t> next_stamp;
    if (next && next->sample_rate == frame->sample_rate) next_stamp = source.stamp(*next);
    const double at_s = timeline.now_s();
    const Timeline::Placement placement =
        timeline.place(frame->sample_rate, frame->nb_samples, source.stamp(*frame), next_stamp);
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

  void finish() {
    downmix.finish();
    ended = true;
    const double end_s = timeline.now_s();
    const auto claimed_s = source.claimed_end_s();
    const bool early = claimed_s && end_s < *claimed_s - kEarlyS;
    if (end_s == 0.0 && (source.damaged() > 0 || source.stopped_early() || early)) {
      throw Error(source.name() + " holds no sound that can be decoded: it is damaged or cut off");
    }
    if (source.damaged() > 0) {
      const int64_t n = source.damaged();
      warn("damaged: " + std::to_string(n) + (n == 1 ? " piece" : " pieces") + " of it could not be decoded, from " +
           seconds(first_damage_s) + " on");
    }
    if (early) warn("ends early: " + seconds(end_s) + " of " + seconds(*claimed_s));
    else if (source.stopped_early()) warn("can't be read beyond " + seconds(end_s) + ": " + source.read_error());
    if (downmix.cleaned() > 0) {
      warn(std::to_string(downmix.cleaned()) + " samples are not numbers or absurdly large, and taken as silence");
    }
  }
};

Decoder::Decoder(const std::string& path, const DecodeOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

Decoder::~Decoder() = default;

bool Decoder::read(Pcm& out) {
  while (!state_->ended && state_->ready.size() < kSampleRate) state_->advance();
  out.start = state_->given;
  out.samples.resize(state_->ready.size());
  for (size_t i = 0; i < out.samples.size(); ++i) out.samples[i] = state_->ready[i] * 0x1p-15f;
  state_->given += static_cast<int64_t>(out.samples.size());
  state_->ready.clear();
  return !out.samples.empty();
}

std::optional<double> Decoder::duration_s() const { return state_->source.duration_s(); }
int Decoder::audio_tracks() const { return state_->source.audio_tracks(); }
bool Decoder::seekable() const { return state_->source.regular_file(); }

std::vector<std::string> Decoder::take_warnings() {
  std::vector<std::string> taken;
  taken.swap(state_->warnings);
  return taken;
}

}  // namespace sotto
