#include "audio/features.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "audio/sound_store.h"
#include "models/error.h"

namespace sotto {

namespace {

constexpr int64_t kLookBack = 10 * 60 * 100;       // frames before the one asked for that a window may still begin at
constexpr int64_t kSoundBack = 30 * kSampleRate;   // samples kept before the first frame that a window may begin at
constexpr int64_t kAtOnce = 10 * kSampleRate;      // samples fed to the spectrogram between two drops

// Samples that frames [0, n_frames) look at; the reflection before the first reaches further than its own window.
int64_t samples_under(int64_t n_frames) {
  return std::max<int64_t>(n_frames * kMelHop + kMelWindow / 2 - kMelHop, kMelWindow / 2 + 1);
}

}  // namespace

struct Features::State {
  State(std::function<bool(Pcm&)> read, bool read_ahead, int bins)
      : read(std::move(read)), read_ahead(read_ahead), sound(read_ahead), mel(bins) {}

  const std::function<bool(Pcm&)> read;
  const bool read_ahead;
  SoundStore sound;
  LogMel mel;
  int64_t fed = 0;           // samples that mel has seen
  bool whole = false;        // the end has been read
  int64_t content = 0;       // read_ahead: frames there are
  float maximum = 0;         // read_ahead: of the whole file
  int64_t window_first = 0;  // of the latest window

  // The next stretch into the store. Sound that begins late on the timeline has silence before it.
  void read_stretch() {
    Pcm pcm;
    if (!read(pcm)) {
      whole = true;
      return;
    }
    CHECK_INVARIANT(pcm.start >= sound.size());
    sound.append(std::vector<float>(pcm.start - sound.size()));
    sound.append(pcm.samples);
  }

  void read_all(int bins) {
    LogMel scan(bins);
    std::vector<float> samples;
    while (!whole) {
      const int64_t before = sound.size();
      read_stretch();
      samples.resize(sound.size() - before);
      sound.read(before, std::ssize(samples), samples.data());
      scan.push(samples);
      scan.drop_before(scan.frames_ready());
    }
    scan.finish();
    content = scan.content_frames();
    maximum = scan.maximum();
  }

  // Feeds mel just what frames [0, n_frames) need, so that the maximum so far depends on n_frames alone, and drops what
  // lies before frame first_kept on the way.
  void advance(int64_t n_frames, int64_t first_kept) {
    const int64_t needed = samples_under(n_frames);
    std::vector<float> samples;
    while (true) {
      const int64_t until = std::min(needed, sound.size());
      while (fed < until) {
        samples.resize(std::min(until - fed, kAtOnce));
        sound.read(fed, std::ssize(samples), samples.data());
        mel.push(samples);
        fed += std::ssize(samples);
        drop_before(first_kept);
      }
      if (fed >= needed) return;
      if (whole) return mel.finish();
      read_stretch();
    }
  }

  // Makes the frames of a window there to be read.
  void reach(int64_t first, int n_frames) {
    CHECK_INVARIANT(first >= window_first);
    advance(first + n_frames, window_first);
    CHECK_INVARIANT((read_ahead ? content : mel.frames_ready()) >= first + n_frames);
  }

  void drop_before(int64_t frame) {
    mel.drop_before(frame);
    sound.drop_before(std::min(frame * kMelHop - kSoundBack, fed));
  }
};

Features::Features(std::function<bool(Pcm&)> read, bool read_ahead, int bins)
    : state_(std::make_unique<State>(std::move(read), read_ahead, bins)) {
  if (read_ahead) state_->read_all(bins);
}
Features::~Features() = default;

int Features::available(int64_t first, int wanted) {
  State& s = *state_;
  CHECK_INVARIANT(first >= 0 && wanted >= 0);
  int64_t frames = s.content;
  if (!s.read_ahead) {
    s.advance(first + wanted, std::max(s.window_first, first - kLookBack));
    frames = s.mel.frames_ready();
  }
  return static_cast<int>(std::clamp<int64_t>(frames - first, 0, wanted));
}

void Features::window(int64_t first, int n_frames, Mel& out) {
  State& s = *state_;
  CHECK_INVARIANT(first >= s.window_first && available(first, n_frames) == n_frames);
  s.window_first = first;
  s.advance(first + n_frames, first);
  look_ahead(first, n_frames, out);
  s.drop_before(first);
}

void Features::look_ahead(int64_t first, int n_frames, Mel& out) {
  state_->reach(first, n_frames);
  state_->mel.window(first, n_frames, state_->read_ahead ? state_->maximum : state_->mel.maximum(), out);
}

void Features::unclamped(int64_t first, int n_frames, Mel& out) {
  state_->reach(first, n_frames);
  state_->mel.window(first, n_frames, kUnclamped, out);
}

void Features::sound(int64_t first, int64_t n, float* out) {
  State& s = *state_;
  while (!s.whole && s.sound.size() < first + n) s.read_stretch();
  s.sound.read(first, n, out);
}

bool Features::whole() const { return state_->whole; }
int64_t Features::n_samples() const { return state_->sound.size(); }

}  // namespace sotto
