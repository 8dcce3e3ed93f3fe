#include "src/transcribe.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "audio/features.h"
#include "audio/mel.h"
#include "models/error.h"
#include "models/utf8.h"
#include "src/decode_window.h"
#include "src/fallback.h"
#include "src/hallucination.h"
#include "src/language.h"
#include "src/prompt.h"
#include "src/segments.h"
#include "src/voice_gate.h"
#include "src/windows.h"
#include "src/words.h"
#include "src/writers.h"

namespace sotto {
namespace {

constexpr int kSlot = 0;  // windows follow each other, so one is enough

// One file on its way through one engine.
class Transcription {
 public:
  Transcription(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener);
  Transcript run();

 private:
  bool transcribe_window(const Window& window);  // false: stopped
  void find_language(const Window& first_with_voice);
  enum class Rest { nothing, silence };  // behind the sound, up to 30 s
  void encode(const Window& window, Rest rest = Rest::nothing);
  void take(const Window& window, const Decoded& decoded);
  bool add_words_to(const Window& window, Cut& cut);  // false: the window was dropped, to go on inside of it
  void report(int64_t seek) const;
  void pass_warnings_on();
  void warn_of_clips_behind_the_end() const;

  Engine& engine_;
  const TranscribeOptions& options_;
  const Listener& listener_;
  const Spoken spoken_;
  Decoder decoder_;
  Features features_;
  VoiceGate voice_;
  const std::vector<Clip> clips_;
  Windows windows_;
  PromptHistory history_;
  WindowDecoder window_decoder_;
  Mel mel_;
  std::optional<Window> encoded_;  // what the slot holds
  bool heard_voice_ = false, passed_over_ = false;  // in a window; one without a voice
  double last_speech_s_ = 0;  // where the last word so far ends
  Transcript transcript_;
};

double seconds(int64_t samples) { return static_cast<double>(samples) / kSampleRate; }

// Frames from first on as they are for zeros: a power of 1e-10, or where that is higher the clamp's floor, which lies 8
// powers of ten below the maximum; scaled as all values are, (x + 4) / 4.
void fill_with_silence(Mel& mel, int first) {
  constexpr float kZeros = (-10.0f + 4) / 4;
  const auto rest = mel.values.begin() + int64_t{first} * mel.bins;
  std::fill(rest, mel.values.end(), std::max(kZeros, *std::max_element(mel.values.begin(), rest) - 2));
}

std::vector<int> initial_prompt(const Tokenizer& tokenizer, const PromptOptions& options, const Listener& listener) {
  if (!options.initial) return {};
  const std::vector<int> tokens = tokenizer.encode(std::string(" ").append(strip(*options.initial)));
  if (tokens.size() > kPromptLimit)
    listener.warning("the initial prompt is " + std::to_string(tokens.size()) + " tokens long, only the last " +
                     std::to_string(kPromptLimit) + " are used");
  return tokens;
}

Transcription::Transcription(Engine& engine, const Sound& sound, const TranscribeOptions& options,
                             const Listener& listener)
    : engine_(engine),
      options_(options),
      listener_(listener),
      spoken_(fit_to_model(options, engine.weights->dims, engine.tokenizer, listener.warning)),
      decoder_(sound.path, sound.decoding),
      features_(decoder_, engine.weights->dims.mel_bins),
      voice_(options.voice_activity ? engine.vad.get() : nullptr),
      clips_(clips_from_times(options.clip_timestamps)),
      windows_(clips_, [this](int64_t first, int wanted) { return features_.available(first, wanted); }),
      history_(initial_prompt(engine.tokenizer, options.prompt, listener), options.prompt.carry_initial),
      window_decoder_(*engine.network, engine.tokenizer, options, listener.stopped) {
  transcript_.audio = sound.path;
  transcript_.model = engine.weights->name;
  transcript_.device = engine.network->description();
  transcript_.language = spoken_.language;
}

Transcript Transcription::run() {
  try {
    while (const auto window = windows_.next()) {
      report(window->seek);
      if (listener_.stopped()) break;
      const bool voice = voice_.hears_voice(features_, *window);
      (voice ? heard_voice_ : passed_over_) = true;
      if (!voice)
        windows_.advance(window->n_frames);
      else if (!transcribe_window(*window))
        break;
      pass_warnings_on();
    }
  } catch (const Error&) {  // a stopped wait for input is one
    if (!listener_.stopped()) throw;
  }
  pass_warnings_on();
  warn_of_clips_behind_the_end();
  if (passed_over_ && !heard_voice_ && !listener_.stopped()) listener_.no_voice(decoder_.audio_tracks());
  transcript_.duration_s = seconds(features_.n_samples());
  if (transcript_.language.empty()) transcript_.language = "unknown";
  return std::move(transcript_);
}

bool Transcription::transcribe_window(const Window& window) {
  if (transcript_.language.empty()) find_language(window);
  const int language = engine_.tokenizer.language_token(transcript_.language);
  const auto prompt = whole_prompt(history_.tokens(), engine_.tokenizer.special(), language, spoken_.translate);

  encode(window);
  const std::optional<Decoded> decoded = window_decoder_.decode(kSlot, prompt, window.seek);
  if (!decoded) return false;
  if (is_silence(*decoded, options_.thresholds))
    windows_.advance(window.n_frames);
  else
    take(window, *decoded);
  return true;
}

// Listens to the first window in which a voice was heard; without a gate to the first 30 s of the sound, as the
// reference does, which has silence behind a shorter sound here (and nothing, 0.0, where it transcribes).
void Transcription::find_language(const Window& first_with_voice) {
  if (voice_.active())
    encode(first_with_voice);
  else
    encode(Window{0, features_.available(0, kMelFrames)}, Rest::silence);
  const std::vector<int> prompt = {engine_.tokenizer.special().sot};
  const Settings settings;
  const auto beginning = engine_.network->begin({&kSlot, 1}, {&prompt, 1}, {&settings, 1}).front();
  engine_.network->stop(kSlot);
  transcript_.language = most_probable_language(beginning.language_log_probs);
  listener_.detected_language(transcript_.language);
}

void Transcription::encode(const Window& window, Rest rest) {
  if (encoded_ == window) return;
  features_.window(window.seek, window.n_frames, mel_);
  const bool silence_behind = rest == Rest::silence && window.n_frames < kMelFrames;
  if (silence_behind) fill_with_silence(mel_, window.n_frames);
  const float* mel = mel_.values.data();
  engine_.network->encode({&mel, 1}, {&kSlot, 1});
  encoded_.reset();
  if (!silence_behind) encoded_ = window;
}

// Makes segments of what was decoded, and goes on where they end.
void Transcription::take(const Window& window, const Decoded& decoded) {
  Cut cut = cut_into_segments(window, decoded.tokens, engine_.tokenizer);
  if (options_.words.timestamps && !add_words_to(window, cut)) return;
  clear_blank_segments(cut.segments);
  clamp_times(cut.segments, seconds(features_.n_samples()));
  for (Segment& segment : cut.segments) {
    segment.id = static_cast<int>(transcript_.segments.size());
    segment.temperature = static_cast<float>(decoded.temperature);
    segment.avg_log_prob = static_cast<float>(decoded.avg_log_prob);
    segment.compression_ratio = static_cast<float>(decoded.compression_ratio);
    segment.no_speech_prob = static_cast<float>(decoded.no_speech_prob);
    history_.append(segment.tokens);
    listener_.segment(segment);
    transcript_.segments.push_back(std::move(segment));
  }
  if (!options_.prompt.condition_on_previous_text || too_random_for_prompt(decoded)) history_.forget();
  windows_.advance(cut.advance);
}

// Lets the words say where the segments and the window end, and whether they were made up in silence.
bool Transcription::add_words_to(const Window& window, Cut& cut) {
  const int language = engine_.tokenizer.language_token(transcript_.language);
  const std::string written = spoken_.translate ? "en" : transcript_.language;
  const TextTimes times =
      time_text(*engine_.network, kSlot, window.n_frames, cut.segments, language, spoken_.translate);
  add_words(cut.segments, times, engine_.tokenizer, written, options_.words, last_speech_s_);

  const auto threshold_s = options_.words.hallucination_silence_threshold;
  cut.advance = advance_by_words(window, cut, threshold_s);
  if (threshold_s) {
    if (const auto silence = leading_silence(window, cut.segments, *threshold_s)) {
      windows_.advance(*silence);
      return false;
    }
    const int ahead = kMelFrames + static_cast<int>(*threshold_s * kSampleRate / kMelHop) + 1;
    const int64_t sound_end = window.seek + features_.available(window.seek, ahead);
    const auto advance = drop_made_up(window, cut.segments, *threshold_s, last_speech_s_, sound_end);
    if (advance) cut.advance = *advance;
  }
  if (!cut.segments.empty()) last_speech_s_ = last_word_end_s(cut.segments);
  return true;
}

void Transcription::report(int64_t seek) const {
  const auto total_s = features_.whole() ? std::optional(seconds(features_.n_samples())) : decoder_.duration_s();
  listener_.progress(seconds(seek * kMelHop), total_s);
}

void Transcription::pass_warnings_on() {
  for (const std::string& sentence : decoder_.take_warnings()) listener_.warning(sentence);
}

void Transcription::warn_of_clips_behind_the_end() const {
  if (!features_.whole() || clips_.back().first == 0 || clips_.back().first * kMelHop < features_.n_samples()) return;
  listener_.warning("the sound ends at " + rough_time(seconds(features_.n_samples())) +
                    ", before the clip that begins at " + rough_time(seconds(clips_.back().first * kMelHop)));
}

Listener with_nothing_empty(Listener listener) {
  if (!listener.segment) listener.segment = [](const Segment&) {};
  if (!listener.progress) listener.progress = [](double, std::optional<double>) {};
  if (!listener.detected_language) listener.detected_language = [](const std::string&) {};
  if (!listener.warning) listener.warning = [](const std::string&) {};
  if (!listener.no_voice) listener.no_voice = [](int) {};
  if (!listener.stopped) listener.stopped = [] { return false; };
  return listener;
}

}  // namespace

Engine open_engine(const std::string& model_path, const NetworkOptions& options) {
  auto weights = std::make_shared<Weights>(*open_weights(model_path));
  weights->alignment_heads = timing_heads(*weights);
  Tokenizer tokenizer(weights->dims.vocabulary);
  auto network = open_network(weights, options);
  return {std::move(weights), std::move(tokenizer), std::move(network), nullptr};
}

Transcript transcribe(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener) {
  const Listener whole = with_nothing_empty(listener);
  return Transcription(engine, sound, options, whole).run();
}

}  // namespace sotto
