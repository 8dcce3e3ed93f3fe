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
constexpr double kFrame_s = 2.0 * kMelHop / kSampleRate;  // an encoder position
constexpr int64_t kPreRoll = kSampleRate * 2 / 5;      // before a voice is heard: soft onsets
constexpr int64_t kKeptSilence = kSampleRate * 3;      // what wasn't taken for a voice, and may have been a short word
constexpr int64_t kVoiceFades = kSampleRate * 3 / 10;  // after a voice, that of it which isn't heard as one
constexpr int64_t kLate = kSampleRate * 3 / 2;         // a pause after which what is left is looked at, whatever waits
constexpr double kFull_s = 27;                         // a window that is longer loses its beginning
constexpr int kBeams = 5;
constexpr double kTokensPerSecond = 8;                 // more than anybody says
constexpr int kLeastRoom = 100;                        // tokens of the decoder's context for what is new
constexpr double kForget_s = 8;                        // of silence, after which what was said is no context any more
constexpr double kListenAgain_s = 2;                   // ... after which another language may be spoken
constexpr double kSpeechForLanguage_s = 2;             // before one is taken for certain
constexpr double kFirst_s = 3;                         // sound before anything is committed without text to go by
constexpr double kUntold_s = 0.6;                      // a voice that no text is of
constexpr double kProbable = -0.7;                     // mean log-prob of what has to be said
constexpr int kWordEnd = 15;                           // frames from where a word is looked at to its end, at most
constexpr int kQuietChunks = 4;                        // in a row are a place where the window can be cut
constexpr double kKeepBehindCut_s = 5, kKeepOfWindow_s = 8;  // a cut is so far from the window's end and beginning
constexpr double kBehind_s = 1;                        // sound that waits for longer is worth a word
constexpr int kBacklog = kSampleRate;                  // with more sound to come at once, a pause isn't passed by itself

// Those that the user named, and timestamps, which no pass asks for.
std::shared_ptr<const TokenSet> never_sampled(const std::string& written, const Tokenizer& tokenizer) {
  TokenSet set = *suppressed_tokens(written, tokenizer);
  for (int i = 0; i < kTimestamps; ++i) add_token(set, tokenizer.special().first_timestamp + i);
  return std::make_shared<TokenSet>(std::move(set));
}

}  // namespace

Captioner::Captioner(Engine& engine, Listen listen, const LiveOptions& options, CaptionOutput& output)
    : engine_(engine),
      listen_(std::move(listen)),
      options_(options),
      output_(output),
      spoken_(fit_to_model(options.text, engine.weights->dims, engine.tokenizer,
                           [&output](const std::string& sentence) { output.notice(0, sentence); })),
      suppress_(never_sampled(options.text.sampling.suppress_tokens, engine.tokenizer)),
      gate_(options.gate),
      window_(engine.weights->dims.mel_bins),
      history_(prompt_texts(engine.tokenizer, options.text.prompt,
                            [&output](const std::string& sentence) { output.notice(0, sentence); }),
               options.text.prompt.carry_initial),
      language_(spoken_.language),
      language_open_(spoken_.language.empty()),
      vote_(options.text.languages) {}

double Captioner::heard_s() const { return static_cast<double>(window_.end()) / kSampleRate; }

void Captioner::hear(std::span<const float> samples, const std::function<double()>& waiting_s) {
  waiting_s_ = &waiting_s;
  waiting_.insert(waiting_.end(), samples.begin(), samples.end());
  const auto whole = std::span(waiting_).first(waiting_.size() / kVadChunk * kVadChunk);
  const std::vector<float> probabilities = listen_(whole);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const size_t left = probabilities.size() - (i + 1);
    take_chunk(whole.subspan(i * kVadChunk, kVadChunk), probabilities[i], left * kVadChunk >= kBacklog);
    const auto chunks = static_cast<size_t>(gate_.position() / kVadChunk);
    const size_t every = options_.chunks_a_pass;
    const bool due = chunks % every == 0 && left < every;  // else sound is here that another one is due after
    if (due && gate_.speaking() && passed_ < window_.end()) pass(Goes::on);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + std::ssize(whole));
  waiting_s_ = nullptr;
}

void Captioner::take_chunk(std::span<const float> chunk, float probability, bool more) {
  window_.push(chunk);
  note_quiet(probability);
  const int64_t last_voice = gate_.voice_end();
  const SpeechGate::Event event = gate_.push(probability);
  const bool unpassed = passed_ < last_voice || !tail_.empty();
  if (event == SpeechGate::Event::onset) {
    const double silence_s = static_cast<double>(gate_.onset() - last_voice) / kSampleRate;
    if (silence_s > kForget_s) history_.forget();
    language_open_ |= spoken_.language.empty() && silence_s > kListenAgain_s;
  } else if (event == SpeechGate::Event::pause) {
    if (!more) pass(Goes::to_its_end);
  } else if (!gate_.speaking()) {
    const int64_t silence = window_.end() - last_voice;
    if (silence > kLate && unpassed) pass(Goes::to_its_end);
    const int64_t faded = last_voice > 0 ? last_voice + kVoiceFades : 0;
    if (last_voice == 0 || silence > keeps_s() * kSampleRate) restart(std::max(faded, window_.end() - kKeptSilence));
  }
  if (window_.length_s() >= kFull_s) pass(Goes::on);
}

// The silence that a window lasts for. A decoder that hears what was said before makes less of the next words up than one
// that begins with them; but it takes their language for that of what it heard first.
double Captioner::keeps_s() const { return spoken_.language.empty() ? kListenAgain_s : kForget_s; }

void Captioner::note_quiet(float probability) {
  n_quiet_ = probability < options_.gate.end_threshold ? n_quiet_ + 1 : 0;
  if (n_quiet_ == kQuietChunks) quiet_.push_back(window_.end() - int64_t{kQuietChunks} * kVadChunk / 2);
}

// The window begins anew; what was said in it is context from now on.
void Captioner::restart(int64_t sample) {
  history_.append(said_);
  said_.clear();
  tail_.clear();
  quiet_.clear();
  window_.begin_at(std::max(sample, window_.first()));
}

void Captioner::pass(Goes goes) {
  ++n_passes_;
  const int n_frames = window_.mel(mel_);
  passed_ = window_.end();
  const float* mel = mel_.values.data();
  engine_.network->encode({&mel, 1}, {&kSlot, 1});
  if (language_open_) find_language(goes);

  const Guess guess = look(n_frames);
  if (guess.looped) history_.forget();
  std::vector<GuessedWord> words;
  if (!is_silence(guess)) words = words_in(guess);
  const bool to_the_end = goes == Goes::to_its_end;
  size_t n = words.size();
  if (!to_the_end) n = committable(words, guess.ended, n_frames / 2, heard_s(), options_.commit);
  const bool out_of_nowhere = said_.empty() && history_.tokens().empty() && window_.length_s() < kFirst_s;
  if (!to_the_end && (language_open_ || out_of_nowhere)) n = 0;
  if (!to_the_end) n = look_again(n_frames, words, n);
  // What stands behind the last word depends on whether one follows, and which.
  if (!to_the_end && n > 0 && n == words.size()) part_from_marks(words, n - 1, engine_.tokenizer);
  commit(words, n);
  tail_ = std::move(words);

  CaptionUpdate update;
  update.committed = std::exchange(new_words_, {});
  for (size_t i = 0; i < tail_.size(); ++i) update.tail.push_back(timed(tail_, i));
  update.ends_utterance = to_the_end;
  tell(std::move(update));
  const double room_s = to_the_end ? keeps_s() : 0;  // nothing is encoded while nobody speaks
  if (window_.length_s() + room_s >= kFull_s) make_room(n_frames);
}

// Where words in doubt are to be committed, beams decide.
size_t Captioner::look_again(int n_frames, std::vector<GuessedWord>& words, size_t n) {
  Settings settings = this->settings(n_frames);
  settings.rows = std::min(kBeams, engine_.network->max_rows());
  const auto doubtful = [this](const GuessedWord& word) { return in_doubt(word, options_.commit); };
  if (settings.rows == 1 || std::none_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n), doubtful)) return n;
  const Guess better = decode_beams(*engine_.network, kSlot, prompt(), settings, n_frames * kMelHop / double(kSampleRate));
  return take_better(words, n, words_in(better), better.ended);
}

std::vector<GuessedWord> Captioner::words_in(const Guess& guess) const {
  std::vector<GuessedWord> words = words_of(guess, engine_.tokenizer, spoken_.translate ? "en" : language_);
  compare_with(tail_, heard_s(), words);
  return words;
}

bool Captioner::is_silence(const Guess& guess) const {
  const ThresholdOptions& thresholds = options_.text.thresholds;
  return thresholds.no_speech && guess.no_speech_prob > *thresholds.no_speech && thresholds.log_prob &&
         guess.avg_log_prob < *thresholds.log_prob;
}

// There may be nothing to add; but a decoder that is given text sometimes ends after it although somebody goes on to speak.
// Then it has to say something, which stands if it is probable.
Guess Captioner::look(int n_frames) {
  Guess guess = look(n_frames, true);
  const double voice_end_s = static_cast<double>(gate_.voice_end()) / kSampleRate;
  const double told_s = std::max(said_until_s_, static_cast<double>(window_.first()) / kSampleRate);
  if (!guess.tokens.empty() || said_.empty() || voice_end_s - told_s < kUntold_s) return guess;
  Guess forced = look(n_frames, false);
  return forced.avg_log_prob > kProbable ? forced : guess;
}

Guess Captioner::look(int n_frames, bool may_be_nothing) {
  Settings settings = this->settings(n_frames);
  settings.suppress_blank = !may_be_nothing;
  return decode_guess(*engine_.network, kSlot, prompt(), settings, said_, n_frames * kMelHop / double(kSampleRate));
}

Settings Captioner::settings(int n_frames) const {
  Settings settings;
  settings.timestamps = false;
  settings.suppress = suppress_;
  settings.suppress_blank = false;
  settings.watch_attention = true;
  settings.token_limit = static_cast<int>(kTokensPerSecond * n_frames * kMelHop / kSampleRate) + 8;
  return settings;
}

std::vector<int> Captioner::prompt() const {
  const SpecialTokens& special = engine_.tokenizer.special();
  const int language = engine_.tokenizer.language_token(language_);
  const auto with = [&](std::span<const int> history) {
    std::vector<int> prompt = whole_prompt(history, special, language, spoken_.translate);
    prompt.push_back(special.no_timestamps);
    prompt.insert(prompt.end(), said_.begin(), said_.end());
    return prompt;
  };
  std::vector<int> prompt = with(history_.tokens());
  if (prompt.size() + kLeastRoom > kTextContext) prompt = with({});
  return prompt;
}

// Until there was enough speech nothing is certain, and nothing is committed, unless that is all that comes.
void Captioner::find_language(Goes goes) {
  const std::vector<std::vector<int>> prompts = {{engine_.tokenizer.special().sot}};
  const Settings settings;
  const auto log_probs = engine_.network->begin({&kSlot, 1}, prompts, {&settings, 1}).front().language_log_probs;
  engine_.network->stop(kSlot);
  const double speech_s = static_cast<double>(window_.end() - std::max(gate_.onset(), window_.first())) / kSampleRate;
  const std::string heard = vote_.of_window(log_probs, speech_s);
  if (!language_.empty() && heard != language_) history_.forget();
  language_ = heard;
  if (speech_s < kSpeechForLanguage_s && goes == Goes::on) return;
  vote_.hear(log_probs, speech_s);
  language_open_ = false;
}

void Captioner::commit(std::vector<GuessedWord>& words, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    new_words_.push_back(timed(words, i));
    said_until_s_ = new_words_.back().end_s;
    said_.insert(said_.end(), words[i].tokens.begin(), words[i].tokens.end());
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
}

// When each committed word of the window begins, in seconds from the window's beginning, and when the last one ends.
std::vector<double> Captioner::said_times_s(int n_frames) {
  const SpecialTokens& special = engine_.tokenizer.special();
  std::vector<int> tokens = whole_prompt({}, special, engine_.tokenizer.language_token(language_), spoken_.translate);
  const int before_text = static_cast<int>(tokens.size());
  tokens.push_back(special.no_timestamps);
  tokens.insert(tokens.end(), said_.begin(), said_.end());
  tokens.push_back(special.eot);
  return token_times_s(engine_.network->align(kSlot, tokens, n_frames / 2), before_text);
}

// Drops the older part of a full window, with the text that belongs to it; all of it if there is no text.
void Captioner::make_room(int n_frames) {
  const auto words = split_into_words(said_, engine_.tokenizer, language_);
  const std::vector<double> times_s = words.empty() ? std::vector<double>() : said_times_s(n_frames);
  const int64_t cut = words.empty() ? -1 : place_to_cut(words, times_s);
  if (cut < 0) return restart(window_.end() - kPreRoll);
  const double cut_s = static_cast<double>(cut - window_.first()) / kSampleRate;
  int n = 0;
  for (const WordTokens& word : words)
    if (times_s[word.begin] < cut_s) n = word.end;
  history_.append(std::span(said_).first(n));
  said_.erase(said_.begin(), said_.begin() + n);
  window_.begin_at(cut);
  std::erase_if(quiet_, [cut](int64_t sample) { return sample <= cut; });
}

// The last quiet place inside of the committed text, else the last boundary of its words; negative: there is none.
int64_t Captioner::place_to_cut(std::span<const WordTokens> words, const std::vector<double>& times_s) const {
  const int64_t least = window_.first() + static_cast<int64_t>(kKeepOfWindow_s * kSampleRate);
  const int64_t committed_until = window_.first() + static_cast<int64_t>(times_s[words.back().end] * kSampleRate);
  const int64_t most = std::min(window_.end() - static_cast<int64_t>(kKeepBehindCut_s * kSampleRate), committed_until);
  for (size_t i = quiet_.size(); i-- > 0;)
    if (quiet_[i] >= least && quiet_[i] <= most) return quiet_[i];
  for (size_t i = words.size(); i-- > 0;) {
    const int64_t at = window_.first() + static_cast<int64_t>(times_s[words[i].begin] * kSampleRate);
    if (at >= least && at <= most) return at;
  }
  return committed_until > window_.first() ? std::min(committed_until, window_.end()) : -1;
}

// A word ends where the next one begins, unless there is a pause. It lasts for a frame at least: several may be looked at in
// the same one, or behind the sound.
Word Captioner::timed(std::span<const GuessedWord> words, size_t i) const {
  const GuessedWord& word = words[i];
  const double first_s = static_cast<double>(window_.first()) / kSampleRate;
  int end = word.last_frame + kWordEnd;
  if (i + 1 < words.size()) end = std::min(end, std::max(words[i + 1].first_frame, word.last_frame + 1));
  Word timed;
  const double looked_at_s = first_s + word.first_frame * kFrame_s;
  timed.start_s = std::max(said_until_s_, std::min(looked_at_s, heard_s() - kFrame_s));
  timed.end_s = std::max(timed.start_s + kFrame_s, std::min(heard_s(), first_s + end * kFrame_s));
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
  if (!waiting_.empty()) {
    waiting_.resize(kVadChunk);
    take_chunk(waiting_, listen_(waiting_).front(), true);
    waiting_.clear();
  }
  if (passed_ < gate_.voice_end() || !tail_.empty()) pass(Goes::to_its_end);
}

}  // namespace sotto
