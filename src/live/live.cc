#include "src/live/live.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "models/error.h"

namespace sotto {
namespace {

constexpr float kSilence_db = -100;
constexpr double kLevelEvery_s = 0.1;

// Root mean square in dB below full scale.
float level_db(std::span<const float> samples) {
  double energy = 0;
  for (const float sample : samples) energy += double(sample) * sample;
  if (samples.empty() || energy == 0) return kSilence_db;
  return std::max(kSilence_db, static_cast<float>(10 * std::log10(energy / static_cast<double>(samples.size()))));
}

}  // namespace

Captioned caption(Engine& engine, LiveSource& source, const LiveOptions& options, CaptionOutput& output,
                  const LiveListener& listener) {
  CHECK_INVARIANT(engine.vad != nullptr);
  Captioner captioner(engine, [&engine](std::span<const float> samples) { return engine.vad->push(samples); }, options,
                      output);
  const std::function<double()> waiting_s = [&source] { return source.waiting_s(); };
  std::vector<float> sound;
  double next_level_s = 0;
  std::exception_ptr failure;
  for (bool goes_on = true; goes_on;) {
    const bool last = listener.stopped && listener.stopped();  // then what was captured until now is the end
    sound.clear();
    try {
      goes_on = source.read(sound) && !last;
    } catch (const Error&) {
      if (!listener.stopped || !listener.stopped()) failure = std::current_exception();  // else that is why it can't go on
      goes_on = false;
    }
    for (const std::string& sentence : source.take_notices()) output.notice(captioner.heard_s(), sentence);
    if (listener.sound) listener.sound(sound);
    if (captioner.heard_s() >= next_level_s && !sound.empty()) {
      output.level(captioner.heard_s(), level_db(sound), captioner.speaking());
      next_level_s = captioner.heard_s() + kLevelEvery_s;
    }
    captioner.hear(sound, waiting_s);
  }
  captioner.finish();
  output.finish();
  if (failure) std::rethrow_exception(failure);
  return {captioner.heard_s(), captioner.n_passes()};
}

}  // namespace sotto
