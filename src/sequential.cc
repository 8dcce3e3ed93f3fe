#include "src/sequential.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/hallucination.h"
#include "src/lost_speech.h"
#include "src/prompt.h"
#include "src/segments.h"
#include "src/speech_edges.h"
#include "src/words.h"

namespace sotto {
namespace {

constexpr int kSlot = 0;        // windows follow each other, so one is enough
constexpr int kMostAhead = 12;  // windows in which the language is looked for, behind the first
constexpr int64_t kLeastAdvance = kMelFrames / 30;  // a window that begins where speech was lost gets so much further
constexpr double kEarly_s = 0.2;  // that text may begin before the speech that was heard, and end after it

class Sequential {
 public:
  explicit Sequential(Job& job);
  void run();

 private:
  bool transcribe_window(const Window& window);  // false: stopped
  std::optional<Decoded> decode(const Window& window);
  void find_language(const Window& first);
  void take_language_of(const Window& window);
  double speech_s(const Window& window) const;
  enum class Rest { nothing, silence };  // behind the sound, up to 30 s
  void encode(const Window& window, Rest rest = Rest::nothing);
  void encode_mel(std::optional<Window> window);
  void listen(double speech_s);
  void take(const Window& window, const Decoded& decoded);
  bool add_words_to(const Window& window, Cut& cut);  // false: the window was dropped, to go on inside of it
  std::vector<Speech> speech_in(const Window& window, int64_t n_frames) const;
  void leave_to_next(const Window& window, std::vector<Speech>& speech, Cut& cut) const;
  void add_lost_speech(const Window& window, std::span<const Speech> speech, std::vector<Segment>& segments, int pass);
  std::vector<Segment> decode_again(const Speech& lost, const Window& part);

  Job& job_;
  Windows windows_;
  PromptHistory history_;
  Mel mel_;
  std::optional<Window> encoded_;  // what the slot holds
  std::string language_;           // of the window
  double last_speech_s_ = 0;       // where the last word so far ends
};

Sequential::Sequential(Job& job)
    : job_(job),
      windows_(job.clips, [&job](int64_t first, int wanted) { return job.features.available(first, wanted); }),
      history_(job.texts, job.options.prompt.carry_initial),
      language_(job.spoken.language) {}

void Sequential::run() {
  while (const auto window = windows_.next()) {
    job_.report(window->seek);
    if (job_.listener.stopped()) break;
    const bool voice = job_.voice.hears_voice(job_.features, *window);
    job_.heard_voice |= voice;
    if (!voice)
      windows_.advance(window->n_frames);
    else if (!transcribe_window(*window))
      break;
    job_.pass_warnings_on();
  }
}

bool Sequential::transcribe_window(const Window& window) {
  if (job_.language_per_window())
    take_language_of(window);
  else if (language_.empty())
    find_language(window);
  encode(window);
  const std::optional<Decoded> decoded = decode(window);
  if (!decoded) return false;
  if (is_silence(*decoded, job_.options.thresholds))
    windows_.advance(window.n_frames);
  else
    take(window, *decoded);
  return true;
}

std::optional<Decoded> Sequential::decode(const Window& window) {
  job_.windows.begin({{kSlot, window.seek, window.n_frames, job_.prompt(history_.tokens(), language_),
                       job_.prompt(history_.carried(), language_)}});
  while (true) {
    for (WindowResult& result : job_.windows.step()) return std::move(result.decoded);
    if (job_.listener.stopped()) break;
  }
  job_.windows.stop();
  return std::nullopt;
}

// Listens to the first window in which a voice was heard, and to some after it if that isn't clear. Where nobody listens
// for a voice, to the first 30 s of what is to be transcribed, as the reference does.
void Sequential::find_language(const Window& first) {
  encode(first, Rest::silence);
  listen(speech_s(first));
  Windows ahead = windows_;
  for (int i = 0; job_.voice.active() && i < kMostAhead && !job_.vote.settled(); ++i) {
    ahead.advance(kMelFrames);
    const auto window = ahead.next();
    if (!window || job_.listener.stopped()) break;
    const double speech = speech_s(*window);
    if (speech == 0) continue;
    job_.features.look_ahead(window->seek, window->n_frames, mel_);
    put_silence_behind(mel_, window->n_frames);
    encode_mel(std::nullopt);
    listen(speech);
  }
  job_.take_language();
  language_ = job_.transcript.language;
}

// Text in another language is no context for it.
void Sequential::take_language_of(const Window& window) {
  encode(window, Rest::silence);
  const double speech = speech_s(window);
  const auto log_probs = job_.language_log_probs({&kSlot, 1}).front();
  const std::string language = job_.vote.of_window(log_probs, speech);
  job_.vote.hear(log_probs, speech);
  if (!language_.empty() && language != language_) history_.forget();
  language_ = language;
}

void Sequential::listen(double speech_s) { job_.vote.hear(job_.language_log_probs({&kSlot, 1}).front(), speech_s); }

// Seconds of speech in a window, heard by itself; all of it where nobody listens for a voice.
double Sequential::speech_s(const Window& window) const {
  if (!job_.voice.active()) return frame_seconds(window.n_frames);
  std::vector<float> sound(int64_t{window.n_frames} * kMelHop);
  job_.features.sound(window.seek * kMelHop, std::ssize(sound), sound.data());
  const auto probabilities = job_.engine.vad->alone(sound);
  const auto speaks = [&](float probability) { return probability >= job_.options.vad.threshold; };
  return seconds_of(std::ranges::count_if(probabilities, speaks) * kVadChunk);
}

void Sequential::encode(const Window& window, Rest rest) {
  if (encoded_ == window) return;
  job_.features.window(window.seek, window.n_frames, mel_);
  const bool silence_behind = rest == Rest::silence && window.n_frames < kMelFrames;
  if (silence_behind) put_silence_behind(mel_, window.n_frames);
  encode_mel(silence_behind ? std::nullopt : std::optional(window));
}

void Sequential::encode_mel(std::optional<Window> window) {
  const float* mel = mel_.values.data();
  job_.engine.network->encode({&mel, 1}, {&kSlot, 1});
  encoded_ = window;
}

// Makes segments of what was decoded, and goes on where they end.
void Sequential::take(const Window& window, const Decoded& decoded) {
  Cut cut = cut_into_segments(window, decoded.tokens, job_.engine.tokenizer);
  if (job_.options.words.timestamps && !add_words_to(window, cut)) return;
  std::vector<Speech> speech = speech_in(window, cut.advance);
  if (!job_.options.words.timestamps && job_.may_lack_speech(cut.segments, speech))
    job_.add_words(kSlot, window.n_frames, cut.segments, language_, frame_seconds(window.seek));
  clear_blank_segments(cut.segments);
  if (job_.voice.active()) snap_to_speech(cut.segments, job_.voice.speech_from(window.seek * kMelHop));
  clamp_times(cut.segments, 0, job_.read_s());
  if (job_.options.voice_activity) clear_blank_segments(cut.segments);  // what the end of the sound leaves no time for
  describe(cut.segments, decoded);
  if (job_.voice.active()) {
    part_at_lost_speech(cut.segments, speech, job_.engine.tokenizer);
    leave_to_next(window, speech, cut);
    add_lost_speech(window, speech, cut.segments, 1);
  }
  for (Segment& segment : cut.segments) {
    history_.append(segment.tokens);
    if (job_.language_per_window()) segment.language = language_;
    job_.add(std::move(segment));
  }
  if (!job_.options.prompt.condition_on_previous_text || !fit_for_prompt(decoded)) history_.forget();
  windows_.advance(cut.advance);
}

// Lets the words say where the segments and the window end, and whether they were made up in silence.
bool Sequential::add_words_to(const Window& window, Cut& cut) {
  job_.add_words(kSlot, window.n_frames, cut.segments, language_, last_speech_s_);
  const auto threshold_s = job_.options.words.hallucination_silence_threshold;
  cut.advance = advance_by_words(window, cut, threshold_s);
  if (threshold_s) {
    if (const auto silence = leading_silence(window, cut.segments, *threshold_s)) {
      windows_.advance(*silence);
      return false;
    }
    const int ahead = kMelFrames + static_cast<int>(*threshold_s * kSampleRate / kMelHop) + 1;
    const int64_t sound_end = window.seek + job_.features.available(window.seek, ahead);
    const auto advance = drop_made_up(window, cut.segments, *threshold_s, last_speech_s_, sound_end);
    if (advance) cut.advance = *advance;
  }
  if (!cut.segments.empty()) last_speech_s_ = last_word_end_s(cut.segments);
  return true;
}

// Of the first n_frames of a window, in samples.
std::vector<Speech> Sequential::speech_in(const Window& window, int64_t n_frames) const {
  const Speech done{window.seek * kMelHop, (window.seek + n_frames) * kMelHop};
  std::vector<Speech> speech = job_.voice.speech_from(done.start);
  std::erase_if(speech, [&](const Speech& one) { return one.start >= done.end; });
  for (Speech& one : speech) one = {std::max(one.start, done.start), std::min(one.end, done.end)};
  return speech;
}

// Lost speech that goes on behind the part of the window that is done is where the next one begins: had it a window of its
// own, both would write it.
void Sequential::leave_to_next(const Window& window, std::vector<Speech>& speech, Cut& cut) const {
  const std::vector<Speech> lost = lost_speech(speech, cut.segments, kWorthAPass);
  if (lost.empty() || lost.back().end < (window.seek + cut.advance) * kMelHop) return;
  const auto advance = window_around(lost.back(), window, cut.segments, job_.options.vad.pad_ms).seek - window.seek;
  if (advance < kLeastAdvance) return;
  cut.advance = static_cast<int>(advance);
  speech = speech_in(window, cut.advance);
}

// What was heard in the part of the window that is done, but isn't in its text, gets a window of its own.
void Sequential::add_lost_speech(const Window& window, std::span<const Speech> speech, std::vector<Segment>& segments,
                                 int pass) {
  std::vector<Segment> found;
  for (const Speech& lost : lost_speech(speech, segments, kWorthAPass)) {
    const Window part = window_around(lost, window, segments, job_.options.vad.pad_ms);
    if (part.n_frames >= window.n_frames) continue;  // the same again would be no better
    std::vector<Segment> again = decode_again(lost, part);
    const bool more = !again.empty() && pass < kMostPasses;
    if (more) add_lost_speech(part, {&lost, 1}, again, pass + 1);
    std::ranges::move(again, std::back_inserter(found));
  }
  std::ranges::move(found, std::back_inserter(segments));
  std::ranges::stable_sort(segments, {}, &Segment::start_s);
}

// Empty where nothing came of it that can be believed.
std::vector<Segment> Sequential::decode_again(const Speech& lost, const Window& part) {
  job_.features.unclamped(part.seek, part.n_frames, mel_);
  clamp_to_own_maximum(mel_, part.n_frames);
  encode_mel(std::nullopt);
  const std::optional<Decoded> decoded = decode(part);
  if (!decoded || needs_fallback(*decoded, job_.options.thresholds) ||
      is_silence(*decoded, job_.options.thresholds) || is_too_fast(decoded->text, lost.end - lost.start))
    return {};
  Cut again = cut_whole_window(part, decoded->tokens, decoded->ended, job_.engine.tokenizer);
  if (job_.options.words.timestamps || job_.may_lack_speech(again.segments, {&lost, 1}))
    job_.add_words(kSlot, part.n_frames, again.segments, language_, frame_seconds(part.seek));
  clear_blank_segments(again.segments);
  std::erase_if(again.segments, [](const Segment& segment) { return segment.text.empty(); });
  clamp_times(again.segments, seconds_of(lost.start) - kEarly_s, seconds_of(lost.end) + kEarly_s);
  describe(again.segments, *decoded);
  return std::move(again.segments);
}

}  // namespace

void transcribe_sequentially(Job& job) { Sequential(job).run(); }

}  // namespace sotto
