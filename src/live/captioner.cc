#include "src/live/captioner.h"

#include <algorithm>
#include <utility>

#include "models/error.h"
#include "src/attention_times.h"
#include "src/fallback.h"
#include "src/suppress.h"
#include "src/word_split.h"

namespace sotto {
namespace {

constexpr int kSlot = 0;
constexpr int kFrame = 2 * kMelHop;                    // samples of an encoder position
constexpr int64_t kPreRoll = kSampleRate * 2 / 5;      // before a voice is heard: soft onsets
constexpr int64_t kLookBack = kSampleRate * 3 / 2;     // a shorter pause doesn't end the window
constexpr double kFull_s = 27;                         // a window that is longer loses its beginning
constexpr double kEnough_s = 12;                       // a pause after that ends the window
constexpr double kTokensPerSecond = 8;                 // more than anybody says
constexpr double kBehind_s = 1;                        // sound that waits for longer is worth a word
constexpr int kBacklog = kSampleRate;                  // with more sound to come at once, a pause isn't passed by itself

}  // namespace

Captioner::Captioner(Engine& engine, Listen listen, const LiveOptions& options, CaptionOutput& output)
    : engine_(engine),
      listen_(std::move(listen)),
      options_(options),
      output_(output),
      spoken_(fit_to_model(options.text, engine.weights->dims, engine.tokenizer,
                           [&output](const std::string& sentence) { output.notice(0, sentence); })),
      suppress_(suppressed_tokens(options.text.sampling.suppress_tokens, engine.tokenizer)),
      gate_(options.gate),
      window_(engine.weights->dims.mel_bins),
      history_(prompt_texts(engine.tokenizer, options.text.prompt,
                            [&output](const std::string& sentence) { output.notice(0, sentence); }),
               options.text.prompt.carry_initial),
      language_(spoken_.language),
      vote_(options.text.languages) {}

double Captioner::heard_s() const { return static_cast<double>(window_.end()) / kSampleRate; }

void Captioner::hear(std::span<const float> samples, const std::function<double()>& waiting_s) {
  waiting_s_ = &waiting_s;
  waiting_.insert(waiting_.end(), samples.begin(), samples.end());
  const auto whole = std::span(waiting_).first(waiting_.size() / kVadChunk * kVadChunk);
  const std::vector<float> probabilities = listen_(whole);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const bool more = whole.size() - (i + 1) * kVadChunk >= kBacklog;
    take_chunk(whole.subspan(i * kVadChunk, kVadChunk), probabilities[i], more);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + std::ssize(whole));
  const double new_s = static_cast<double>(window_.end() - std::max(passed_, window_.first())) / kSampleRate;
  if (gate_.speaking() && new_s >= options_.least_new_s) pass(Goes::on);
}

void Captioner::take_chunk(std::span<const float> chunk, float probability, bool more) {
  window_.push(chunk);
  const SpeechGate::Event event = gate_.push(probability);
  const bool unpassed = passed_ < gate_.voice_end();
  if (event == SpeechGate::Event::onset) {
    if (window_.length_s() > kEnough_s && !unpassed) restart(gate_.onset() - kPreRoll);
  } else if (event == SpeechGate::Event::pause) {
    if (!more) pass(Goes::to_its_end);
  } else if (!gate_.speaking() && window_.end() - gate_.voice_end() > kLookBack) {
    if (unpassed) pass(Goes::to_its_end);
    restart(window_.end() - kPreRoll);
  }
  if (window_.length_s() >= kFull_s) {
    pass(Goes::on);
  }
}

// The window begins anew; what was said in it is context from now on.
void Captioner::restart(int64_t sample) {
  history_.append(said_);
  said_.clear();
  tail_.clear();
  window_.begin_at(std::max(sample, window_.first()));
}

void Captioner::pass(Goes goes) {
  ++n_passes_;
  const int n_frames = window_.mel(mel_);
  passed_ = window_.end();
  const float* mel = mel_.values.data();
  engine_.network->encode({&mel, 1}, {&kSlot, 1});
  if (language_.empty()) find_language();

  const Guess guess = look(n_frames);
  std::vector<GuessedWord> words = words_of(guess, engine_.tokenizer, language_);
  const ThresholdOptions& thresholds = options_.text.thresholds;
  const bool silence = thresholds.no_speech && guess.no_speech_prob > *thresholds.no_speech &&
                       thresholds.log_prob && guess.avg_log_prob < *thresholds.log_prob;
  if (guess.looped) history_.forget();
  if (silence || guess.looped) words.clear();
  const size_t n = goes == Goes::to_its_end
                       ? words.size()
                       : committable(words, tail_, guess.ended, n_frames / 2, options_.commit);
  commit(words, n);
  tail_ = std::move(words);

  CaptionUpdate update;
  update.committed = std::exchange(new_words_, {});
  for (const GuessedWord& word : tail_) update.tail.push_back(timed(word));
  update.ends_utterance = goes == Goes::to_its_end;
  tell(std::move(update));
  if (window_.length_s() >= kFull_s) make_room(n_frames);
}

Guess Captioner::look(int n_frames) {
  Settings settings;
  settings.timestamps = false;
  settings.suppress = suppress_;
  settings.suppress_blank = false;  // there may be nothing to add
  settings.watch_attention = true;
  const double window_s = n_frames * kMelHop / double(kSampleRate);
  settings.token_limit = static_cast<int>(kTokensPerSecond * window_s) + 8;
  return decode_guess(*engine_.network, kSlot, prompt(), settings, said_, window_s);
}

std::vector<int> Captioner::prompt() const {
  std::vector<int> prompt = whole_prompt(history_.tokens(), engine_.tokenizer.special(),
                                         engine_.tokenizer.language_token(language_), spoken_.translate);
  prompt.push_back(engine_.tokenizer.special().no_timestamps);
  prompt.insert(prompt.end(), said_.begin(), said_.end());
  return prompt;
}

void Captioner::find_language() {
  const std::vector<std::vector<int>> prompts = {{engine_.tokenizer.special().sot}};
  const Settings settings;
  const auto log_probs = engine_.network->begin({&kSlot, 1}, prompts, {&settings, 1}).front().language_log_probs;
  engine_.network->stop(kSlot);
  vote_.hear(log_probs, window_.length_s());
  language_ = vote_.result().code;
}

void Captioner::commit(std::vector<GuessedWord>& words, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    new_words_.push_back(timed(words[i]));
    said_until_s_ = new_words_.back().end_s;
    said_.insert(said_.end(), words[i].tokens.begin(), words[i].tokens.end());
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
}

// Drops the older part of a full window, with the text that belongs to it.
void Captioner::make_room(int n_frames) {
  const SpecialTokens& special = engine_.tokenizer.special();
  std::vector<int> tokens = whole_prompt({}, special, engine_.tokenizer.language_token(language_), spoken_.translate);
  tokens.push_back(special.no_timestamps);
  const int first = static_cast<int>(tokens.size()) - 1;
  tokens.insert(tokens.end(), said_.begin(), said_.end());
  tokens.push_back(special.eot);
  const std::vector<double> times = token_times_s(engine_.network->align(kSlot, tokens, n_frames / 2), first);
  size_t cut = 0;
  const auto split = split_into_words(said_, engine_.tokenizer, language_);
  for (const WordTokens& word : split)
    if (times[word.end] < window_.length_s() - 10) cut = word.end;
  const int64_t at = window_.first() + static_cast<int64_t>(times[cut] * kSampleRate);
  history_.append(std::span(said_).first(cut));
  said_.erase(said_.begin(), said_.begin() + static_cast<std::ptrdiff_t>(cut));
  window_.begin_at(cut > 0 ? at : window_.end() - kPreRoll);
}

Word Captioner::timed(const GuessedWord& word) const {
  const double first_s = static_cast<double>(window_.first()) / kSampleRate;
  Word timed;
  timed.start_s = std::max(said_until_s_, first_s + word.first_frame * kFrame / double(kSampleRate));
  timed.end_s = std::max(timed.start_s, first_s + (word.last_frame + 1) * kFrame / double(kSampleRate));
  timed.text = word.text;
  timed.probability = word.probability;
  return timed;
}

void Captioner::tell(CaptionUpdate update) {
  update.heard_s = heard_s();
  const double waiting_s = waiting_s_ ? (*waiting_s_)() : 0;
  update.behind_s = waiting_s > kBehind_s ? waiting_s : 0;
  update.language = language_;
  output_.update(update);
}

void Captioner::finish() {
  if (window_.end() > passed_ && passed_ < gate_.voice_end()) pass(Goes::to_its_end);
}

}  // namespace sotto
