#include "audio/mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "audio/mel_fft.h"
#include "models/error.h"

namespace sotto {

MelFrames best_mel_frames() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return mel_frames_avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return mel_frames_avx2;
#endif
  return mel_frames_generic;
}

namespace {

constexpr int kEdge = kMelWindow / 2;   // samples that are reflected before the first one
constexpr int kPadding = 480000;        // zeros after the last one: 30 s
constexpr float kLogFloor = -10;        // log10(1e-10), the value of silence

// Slaney's mel scale: linear up to 1000 Hz, logarithmic above it.
double mel_to_hz(double mel) {
  constexpr double kHzPerMel = 200.0 / 3, kFirstLog = 15;
  return mel < kFirstLog ? mel * kHzPerMel : 1000 * std::exp((mel - kFirstLog) * std::log(6.4) / 27);
}
double hz_to_mel(double hz) {
  return hz < 1000 ? hz * 3 / 200 : 15 + std::log(hz / 1000) * 27 / std::log(6.4);
}

// What MelTables points to.
struct Tables {
  std::vector<float> window, unit, weights;
  std::vector<int> first, count;

  explicit Tables(int bins) {
    constexpr double kTurn = 2 * std::numbers::pi / kMelWindow;
    for (int i = 0; i < kMelWindow; ++i) {
      window.push_back(static_cast<float>(0.5 - 0.5 * std::cos(kTurn * i)));
      unit.push_back(static_cast<float>(std::cos(kTurn * i)));
      unit.push_back(static_cast<float>(-std::sin(kTurn * i)));
    }
    const double top = hz_to_mel(kSampleRate / 2.0);
    for (int bin = 0; bin < bins; ++bin) add_filter(bin * top / (bins + 1), top / (bins + 1));
  }

  MelTables view() const {
    return {static_cast<int>(first.size()), window.data(), unit.data(), first.data(), count.data(), weights.data()};
  }

 private:
  // A triangle from `mel` over mel + step to mel + 2 step, of area one (in Hz).
  void add_filter(double mel, double step) {
    const double low = mel_to_hz(mel), middle = mel_to_hz(mel + step), high = mel_to_hz(mel + 2 * step);
    int begin = 0, n = 0;
    for (int k = 0; k < kMelSpectrum; ++k) {
      const double hz = static_cast<double>(k) * kSampleRate / kMelWindow;
      const double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle)) * 2 / (high - low);
      if (weight <= 0) continue;
      if (n++ == 0) begin = k;
      weights.push_back(static_cast<float>(weight));
    }
    first.push_back(begin);
    count.push_back(n);
  }
};

// Comparisons with NaN are false.
float sane_sample(float x) { return x > 1 ? 1 : x < -1 ? -1 : x == x ? x : 0; }

}  // namespace

struct LogMel::State {
  explicit State(int bins) : bins(bins), tables(bins), mel_frames(best_mel_frames()) {}

  const int bins;
  const Tables tables;
  const MelFrames mel_frames;

  std::vector<float> pending;  // the sound from the next frame's first sample on, reflected edge included
  bool edge_done = false;
  bool finished = false;
  int64_t n_samples = 0;

  std::vector<float> frames;  // [frames_ready - first_kept][bins], after what is dropped but not yet erased
  int64_t erased = 0;         // frames[0] is this frame
  int64_t first_kept = 0;
  int64_t ready = 0;
  float maximum = kLogFloor;

  int64_t content_frames() const { return n_samples == 0 ? 0 : std::max<int64_t>(n_samples / kMelHop, 1); }

  void reflect_edge() {  // pending begins at sample 0 and holds at least kEdge + 1 samples
    std::vector<float> edge(pending.begin() + 1, pending.begin() + 1 + kEdge);
    pending.insert(pending.begin(), edge.rbegin(), edge.rend());
    edge_done = true;
  }

  void compute_pending() {
    if (std::ssize(pending) < kMelWindow) return;
    const int64_t n_frames = (std::ssize(pending) - kMelWindow) / kMelHop + 1;
    const size_t before = frames.size();
    frames.resize(before + n_frames * bins);
    constexpr int kAtOnce = 1 << 16;  // keeps the kernel's int arithmetic in range
    for (int64_t done = 0; done < n_frames; done += kAtOnce) {
      const int n = static_cast<int>(std::min<int64_t>(kAtOnce, n_frames - done));
      maximum = std::max(maximum, mel_frames(tables.view(), pending.data() + done * kMelHop, n,
                                             frames.data() + before + done * bins));
    }
    ready += n_frames;
    pending.erase(pending.begin(), pending.begin() + n_frames * kMelHop);
  }
};

void clamp_to_own_maximum(Mel& mel, int n_frames) {
  const std::span values(mel.values.data(), static_cast<size_t>(n_frames) * mel.bins);
  if (values.empty()) return;
  const float floor = *std::ranges::max_element(values) - 2;  // 8 powers of ten, scaled
  for (float& value : values) value = std::max(value, floor);
}

LogMel::LogMel(int bins) : state_(std::make_unique<State>(bins)) { CHECK_INVARIANT(bins == 80 || bins == 128); }
LogMel::~LogMel() = default;

void LogMel::push(std::span<const float> samples) {
  State& s = *state_;
  CHECK_INVARIANT(!s.finished);
  const size_t before = s.pending.size();
  s.pending.resize(before + samples.size());
  std::transform(samples.begin(), samples.end(), s.pending.begin() + before, sane_sample);
  s.n_samples += std::ssize(samples);
  if (!s.edge_done && s.pending.size() > kEdge) s.reflect_edge();
  if (s.edge_done) s.compute_pending();
}

// Of the 30 s of zeros only those under a window that reaches into the sound matter: every frame after is at the floor,
// where the maximum begins.
void LogMel::finish() {
  State& s = *state_;
  if (s.finished) return;
  static_assert(kPadding >= 2 * kMelWindow);
  s.pending.resize(s.pending.size() + 2 * kMelWindow, 0.0f);
  if (!s.edge_done) s.reflect_edge();
  s.compute_pending();
  s.finished = true;
  s.pending = {};
  s.ready = s.content_frames();
  s.first_kept = std::min(s.first_kept, s.ready);
}

int64_t LogMel::n_samples() const { return state_->n_samples; }
int64_t LogMel::frames_ready() const { return state_->ready; }
int64_t LogMel::content_frames() const { return state_->content_frames(); }
float LogMel::maximum() const { return state_->maximum; }

void LogMel::drop_before(int64_t frame) {
  State& s = *state_;
  s.first_kept = std::clamp(frame, s.first_kept, s.ready);
  const int64_t unused = s.first_kept - s.erased;
  if (unused * s.bins * 2 < std::ssize(s.frames)) return;  // moves at most as much as was dropped
  s.frames.erase(s.frames.begin(), s.frames.begin() + unused * s.bins);
  s.erased = s.first_kept;
}

void LogMel::window(int64_t first, int n_frames, float maximum, Mel& out) const {
  const State& s = *state_;
  CHECK_INVARIANT(n_frames >= 0 && n_frames <= kMelFrames);
  CHECK_INVARIANT(first >= s.first_kept && first + n_frames <= s.ready);
  out.bins = s.bins;
  out.values.assign(static_cast<size_t>(kMelFrames) * s.bins, 0.0f);
  const float* from = s.frames.data() + (first - s.erased) * s.bins;
  const float floor = maximum - 8;
  float* to = out.values.data();
  for (int i = 0; i < n_frames * s.bins; ++i) to[i] = ((from[i] > floor ? from[i] : floor) + 4) / 4;
}

}  // namespace sotto
