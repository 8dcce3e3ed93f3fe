#include "src/job.h"

#include <string>
#include <utility>

#include "models/utf8.h"
#include "src/prompt.h"
#include "src/words.h"

namespace sotto {
namespace {

std::vector<int> tokens_of_prompt(const Tokenizer& tokenizer, const PromptOptions& options, const Listener& listener) {
  if (!options.initial) return {};
  const std::vector<int> tokens = tokenizer.encode(std::string(" ").append(strip(*options.initial)));
  if (tokens.size() > kPromptLimit)
    listener.warning("the initial prompt is " + std::to_string(tokens.size()) + " tokens long, only the last " +
                     std::to_string(kPromptLimit) + " are used");
  return tokens;
}

}  // namespace

Job::Job(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener)
    : engine(engine),
      options(options),
      listener(listener),
      spoken(fit_to_model(options, engine.weights->dims, engine.tokenizer, listener.warning)),
      decoder(sound.path, sound.decoding),
      features(decoder, engine.weights->dims.mel_bins),
      voice(options.voice_activity ? engine.vad.get() : nullptr, options.vad),
      clips(clips_from_times(options.clip_timestamps)),
      initial_prompt(tokens_of_prompt(engine.tokenizer, options.prompt, listener)),
      windows(*engine.network, engine.tokenizer, options) {
  transcript.audio = sound.path;
  transcript.model = engine.weights->name;
  transcript.device = engine.network->description();
  transcript.language = spoken.language;
}

void Job::detect_language(int slot) {
  const std::vector<int> prompt = {engine.tokenizer.special().sot};
  const Settings settings;
  const auto beginning = engine.network->begin({&slot, 1}, {&prompt, 1}, {&settings, 1}).front();
  engine.network->stop(slot);
  transcript.language = most_probable_language(beginning.language_log_probs);
  listener.detected_language(transcript.language);
}

void Job::add_words(int slot, int n_frames, std::span<Segment> segments, double last_speech_s) {
  const std::string written = spoken.translate ? "en" : transcript.language;
  const TextTimes times =
      time_text(*engine.network, slot, n_frames, segments, language_token(), spoken.translate);
  sotto::add_words(segments, times, engine.tokenizer, written, options.words, last_speech_s);
}

void Job::add(Segment segment) {
  segment.id = static_cast<int>(transcript.segments.size());
  listener.segment(segment);
  transcript.segments.push_back(std::move(segment));
}

void Job::report(int64_t frame) {
  const auto total_s = features.whole() ? std::optional(read_s()) : decoder.duration_s();
  listener.progress(frame_seconds(frame), total_s);
}

void Job::pass_warnings_on() {
  for (const std::string& sentence : decoder.take_warnings()) listener.warning(sentence);
}

void describe(std::span<Segment> segments, const Decoded& decoded) {
  for (Segment& segment : segments) {
    segment.temperature = static_cast<float>(decoded.temperature);
    segment.avg_log_prob = static_cast<float>(decoded.avg_log_prob);
    segment.compression_ratio = static_cast<float>(decoded.compression_ratio);
    segment.no_speech_prob = static_cast<float>(decoded.no_speech_prob);
  }
}

}  // namespace sotto
