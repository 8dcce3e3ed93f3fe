#include "src/job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/lost_speech.h"
#include "src/words.h"

namespace sotto {

Job::Job(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener)
    : engine(engine),
      options(options),
      listener(listener),
      spoken(fit_to_model(options, engine.weights->dims, engine.tokenizer, listener.warning)),
      decoder(sound.path, sound.decoding),
      features(decoder, engine.weights->dims.mel_bins),
      voice(options.voice_activity ? engine.vad.get() : nullptr, options.vad),
      clips(clips_from_times(options.clip_timestamps)),
      texts(prompt_texts(engine.tokenizer, options.prompt, listener.warning)),
      windows(*engine.network, engine.tokenizer, options),
      vote(options.languages, options.mode == Mode::batched ? 3 : 1) {  // windows side by side cost little
  transcript.audio = sound.path;
  transcript.model = engine.weights->name;
  transcript.device = engine.network->description();
  transcript.language = spoken.language;
}

std::vector<std::vector<float>> Job::language_log_probs(std::span<const int> slots) {
  const std::vector<std::vector<int>> prompts(slots.size(), {engine.tokenizer.special().sot});
  const std::vector<Settings> settings(slots.size());
  std::vector<std::vector<float>> log_probs;
  for (Beginning& beginning : engine.network->begin(slots, prompts, settings))
    log_probs.push_back(std::move(beginning.language_log_probs));
  for (const int slot : slots) engine.network->stop(slot);
  return log_probs;
}

void Job::take_language() {
  const HeardLanguage heard = vote.result();
  transcript.language = heard.code;
  transcript.language_probability = heard.probability;
  listener.detected_language(heard);
}

std::vector<int> Job::prompt(std::span<const int> history, const std::string& language) const {
  const Tokenizer& tokenizer = engine.tokenizer;
  return whole_prompt(history, tokenizer.special(), tokenizer.language_token(language), spoken.translate);
}

void Job::add_words(int slot, int n_frames, std::span<Segment> segments, const std::string& language,
                    double last_speech_s) {
  const std::string written = spoken.translate ? "en" : language;
  const int token = engine.tokenizer.language_token(language);
  const TextTimes times = time_text(*engine.network, slot, n_frames, segments, token, spoken.translate);
  sotto::add_words(segments, times, engine.tokenizer, written, options.words, last_speech_s);
}

bool Job::may_lack_speech(std::span<const Segment> segments, std::span<const Speech> heard) const {
  if (!voice.active()) return false;
  const auto thin = [&](const Segment& one) { return is_thin(one, heard, engine.tokenizer.special().eot); };
  return std::ranges::any_of(segments, thin) || !lost_speech(heard, segments, kWorthAPass).empty();
}

void Job::add(Segment segment) {
  if (!options.words.timestamps) segment.words.clear();
  segment.id = static_cast<int>(transcript.segments.size());
  listener.segment(segment);
  transcript.segments.push_back(std::move(segment));
}

void Job::report(int64_t frame) {
  reached = frame;
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
