#include "src/transcribe.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "models/error.h"
#include "src/batched.h"
#include "src/coverage.h"
#include "src/job.h"
#include "src/parts.h"
#include "src/sequential.h"
#include "src/words.h"
#include "src/writers.h"

namespace sotto {
namespace {

Listener with_nothing_empty(Listener listener) {
  if (!listener.segment) listener.segment = [](const Segment&) {};
  if (!listener.progress) listener.progress = [](double, std::optional<double>) {};
  if (!listener.detected_language) listener.detected_language = [](const HeardLanguage&) {};
  if (!listener.warning) listener.warning = [](const std::string&) {};
  if (!listener.no_voice) listener.no_voice = [](int) {};
  if (!listener.stopped) listener.stopped = [] { return false; };
  return listener;
}

void warn_of_clips_behind_the_end(const Job& job) {
  const int64_t first = job.clips.back().first * kMelHop;
  if (!job.features.whole() || first == 0 || first < job.features.n_samples()) return;
  job.listener.warning("the sound ends at " + rough_time(job.read_s()) + ", before the clip that begins at " +
                       rough_time(seconds_of(first)));
}

// A sound as its decoder gives it, from its first sample on.
Transcript transcribe_part(Engine& engine, const Sound& sound, const TranscribeOptions& options,
                           const Listener& listener) {
  Job job(engine, sound, options, listener);
  try {
    if (options.mode == Mode::batched)
      transcribe_in_batches(job);
    else
      transcribe_sequentially(job);
  } catch (const Error&) {  // a stopped wait for input is one
    if (!listener.stopped()) throw;
  }
  job.pass_warnings_on();
  warn_of_clips_behind_the_end(job);
  if (job.voice.active() && !job.heard_voice && job.features.n_samples() > 0 && !listener.stopped())
    listener.no_voice(job.decoder.audio_tracks());
  job.transcript.duration_s = job.read_s();
  if (job.transcript.language.empty() && job.vote.heard_any()) job.take_language();
  if (job.transcript.language.empty()) job.transcript.language = "unknown";
  const std::vector<Speech> speech = job.voice.speech_from(0);
  job.transcript.coverage = coverage_of(job.transcript, job.clips, listener.stopped() ? job.reached : kToTheEnd,
                                        job.voice.active() ? &speech : nullptr, options.thresholds);
  return std::move(job.transcript);
}

}  // namespace

Engine open_engine(const std::string& model_path, const NetworkOptions& options) {
  auto weights = std::make_shared<Weights>(*open_weights(model_path));
  weights->alignment_heads = timing_heads(*weights);
  Tokenizer tokenizer(weights->dims.vocabulary);
  NetworkOptions fitting = options;
  if (fitting.slots == 0)
    fitting.slots = windows_that_fit(weights->dims, options.max_rows,
                                     int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
  auto network = open_network(weights, fitting);
  return {std::move(weights), std::move(tokenizer), std::move(network), nullptr};
}

Transcript transcribe(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener) {
  const TranscribePart part = [&engine](const Sound& sound, const TranscribeOptions& options, const Listener& listener) {
    return transcribe_part(engine, sound, options, listener);
  };
  const TranscribePart stretch = [&part](const Sound& sound, const TranscribeOptions& options,
                                         const Listener& listener) {
    return transcribe_stretch(sound, options, listener, part);
  };
  const Listener whole = with_nothing_empty(listener);
  return options.split_channels ? transcribe_channels(sound, options, whole, stretch) : stretch(sound, options, whole);
}

}  // namespace sotto
