#include "src/batched.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/join.h"
#include "src/lost_speech.h"
#include "src/prompt.h"
#include "src/segments.h"
#include "src/speech_edges.h"
#include "src/window_plan.h"

namespace sotto {
namespace {

constexpr int64_t kTimestampSamples = kSampleRate / 50;
constexpr int64_t kShortestTail = kSampleRate / 3;  // of speech at a window's end; less is the last word's
constexpr int kAllButFull = 25 * 100;  // frames; a language is heard in so much without silence behind it
constexpr size_t kMostBeforeTail = 200;             // tokens, so that there is room for a prompt before and a tail behind

// What one slot decodes: a planned window, or the part of one in which speech was lost.
struct Piece {
  int64_t number;  // of the window
  int retry = 0;
  Window window;
  std::vector<Speech> speech;
  Mel mel;
  Mel unclamped;         // for what is decoded again
  bool encoded = false;
  std::vector<int> said;                // by the window before what was lost
  std::optional<Decoded> without_tail;  // while the rest of its text is written
};

// A window from when it was planned to when its segments are final.
struct Pending {
  PlannedWindow planned;
  int pieces_left = 1;
  std::string language;
  std::vector<Segment> segments;
};

double speech_s(const Piece& piece) {
  int64_t samples = 0;
  for (const Speech& speech : piece.speech) samples += speech.end - speech.start;
  return seconds_of(samples);
}

// Whether some words in a row, from the token `first` on, have been said before.
bool repeats(const std::vector<int>& tokens, size_t first) {
  constexpr std::ptrdiff_t kInARow = 4;
  for (auto at = tokens.begin() + static_cast<std::ptrdiff_t>(first); tokens.end() - at >= kInARow; ++at)
    if (std::search(tokens.begin(), at + kInARow - 1, at, at + kInARow) != at + kInARow - 1) return true;
  return false;
}

class Batched {
 public:
  explicit Batched(Job& job);
  void run();

 private:
  void fill_slots();
  std::optional<Piece> next_piece();
  std::optional<Piece> plan_piece();
  void find_language(const std::vector<int>& slots);
  void find_each_language(const std::vector<int>& slots);
  std::vector<std::vector<float>> listen(const std::vector<int>& slots);
  void encode(const std::vector<int>& slots);
  void begin(const std::vector<int>& slots);
  WindowTask task(int slot) const;
  void finish(WindowResult result);
  bool lacks_tail(const Piece& piece, const Decoded& decoded) const;
  void add_tail(Decoded& decoded, const Decoded& tail) const;
  std::vector<Segment> segments_of(const Piece& piece, int slot, const Decoded& decoded);
  void decode_again(const Piece& piece, std::span<const Segment> segments);
  bool says_again(const Piece& piece, const Decoded& decoded) const;
  void pass_on();
  const Pending& pending(const Piece& piece) const { return pending_[piece.number - first_pending_]; }
  Pending& pending(const Piece& piece) { return pending_[piece.number - first_pending_]; }
  bool shares_sound(int64_t number) const;

  Job& job_;
  WindowPlan plan_;
  const PromptHistory history_;      // what each window is to have in mind
  std::deque<Piece> lost_;           // to be decoded before new windows
  std::deque<Piece> ahead_;          // new windows that were listened to for the language
  std::map<int, Piece> under_way_;   // by slot
  std::deque<Pending> pending_;      // in the order of the sound
  int64_t first_pending_ = 0;        // the number of pending_'s first window
  bool all_planned_ = false;
};

Batched::Batched(Job& job)
    : job_(job),
      plan_(job.clips, job.features, job.voice, job.options.vad.pad_ms),
      history_(job.texts, true) {}

void Batched::run() {
  while (!job_.listener.stopped()) {
    fill_slots();
    if (!job_.windows.busy()) return;
    for (WindowResult& result : job_.windows.step()) finish(std::move(result));
    pass_on();
  }
  job_.windows.stop();
}

// Gives windows to free slots, once there are some: several are encoded faster together than one by one.
void Batched::fill_slots() {
  const int n_slots = job_.engine.network->n_slots(), n_busy = static_cast<int>(under_way_.size());
  if (n_busy > 0 && n_slots - n_busy < std::max(1, n_slots / 4)) return;
  std::vector<int> slots;
  for (int slot = 0; slot < n_slots; ++slot) {
    if (under_way_.contains(slot)) continue;
    auto piece = next_piece();
    if (!piece) break;
    under_way_.emplace(slot, std::move(*piece));
    slots.push_back(slot);
  }
  if (!slots.empty()) begin(slots);
}

std::optional<Piece> Batched::next_piece() {
  for (std::deque<Piece>* waiting : {&lost_, &ahead_}) {
    if (waiting->empty()) continue;
    Piece piece = std::move(waiting->front());
    waiting->pop_front();
    return piece;
  }
  return plan_piece();
}

std::optional<Piece> Batched::plan_piece() {
  if (all_planned_ || job_.listener.stopped()) return std::nullopt;
  auto planned = plan_.next();
  job_.pass_warnings_on();
  if (!planned) {
    all_planned_ = true;
    return std::nullopt;
  }
  job_.heard_voice = true;
  Piece piece{first_pending_ + std::ssize(pending_), 0, planned->window, planned->speech, {}, {}, false, {}, {}};
  job_.features.window(piece.window.seek, piece.window.n_frames, piece.mel);
  job_.features.unclamped(piece.window.seek, piece.window.n_frames, piece.unclamped);
  pending_.push_back({std::move(*planned), 1, job_.transcript.language, {}});
  return piece;
}

// Log-probs of the languages in each window. One that is shorter than the model's has to be encoded again for its text.
std::vector<std::vector<float>> Batched::listen(const std::vector<int>& slots) {
  std::vector<Mel> with_silence(slots.size());
  std::vector<const float*> mels;
  for (size_t i = 0; i < slots.size(); ++i) {
    Piece& piece = under_way_.at(slots[i]);
    piece.encoded = piece.window.n_frames >= kAllButFull;
    if (!piece.encoded) {
      with_silence[i] = piece.mel;
      put_silence_behind(with_silence[i], piece.window.n_frames);
    }
    mels.push_back((piece.encoded ? piece.mel : with_silence[i]).values.data());
  }
  job_.engine.network->encode(mels, slots);
  return job_.language_log_probs(slots);
}

// Listens to the windows in the first slots and, where they are few and the language isn't clear from them, to some more:
// the same ones, however many slots there are.
void Batched::find_language(const std::vector<int>& slots) {
  const std::vector<int> first(slots.begin(), slots.begin() + std::min(std::ssize(slots), LanguageVote::kMostWindows));
  const auto log_probs = listen(first);
  for (size_t i = 0; i < first.size() && !job_.vote.settled(); ++i)
    job_.vote.hear(log_probs[i], speech_s(under_way_.at(first[i])));
  const int slot = first.front();
  while (!job_.vote.settled()) {
    auto piece = plan_piece();
    if (!piece) break;
    std::swap(under_way_.at(slot), *piece);
    job_.vote.hear(listen({slot}).front(), speech_s(under_way_.at(slot)));
    std::swap(under_way_.at(slot), *piece);
    under_way_.at(slot).encoded = piece->encoded = false;
    ahead_.push_back(std::move(*piece));
  }
  job_.take_language();
  for (Pending& window : pending_) window.language = job_.transcript.language;
}

// Listens to each new window, in their order. What is decoded again is in its window's language.
void Batched::find_each_language(const std::vector<int>& slots) {
  std::vector<int> fresh;
  for (const int slot : slots)
    if (under_way_.at(slot).retry == 0) fresh.push_back(slot);
  if (fresh.empty()) return;
  const auto log_probs = listen(fresh);
  for (size_t i = 0; i < fresh.size(); ++i) {
    const Piece& piece = under_way_.at(fresh[i]);
    pending(piece).language = job_.vote.of_window(log_probs[i], speech_s(piece));
    job_.vote.hear(log_probs[i], speech_s(piece));
  }
}

void Batched::encode(const std::vector<int>& slots) {
  std::vector<int> wanted;
  std::vector<const float*> mels;
  for (const int slot : slots) {
    Piece& piece = under_way_.at(slot);
    if (std::exchange(piece.encoded, true)) continue;
    wanted.push_back(slot);
    mels.push_back(piece.mel.values.data());
  }
  if (!wanted.empty()) job_.engine.network->encode(mels, wanted);
}

void Batched::begin(const std::vector<int>& slots) {
  if (job_.language_per_window())
    find_each_language(slots);
  else if (job_.transcript.language.empty())
    find_language(slots);
  encode(slots);

  std::vector<WindowTask> tasks;
  for (const int slot : slots) tasks.push_back(task(slot));
  job_.windows.begin(std::move(tasks));
}

WindowTask Batched::task(int slot) const {
  const Piece& piece = under_way_.at(slot);
  PromptHistory history = history_;
  const std::string& language = pending(piece).language;
  const auto plain_prompt = job_.prompt(history.tokens(), language);
  history.append(piece.said);
  return {slot, piece.window.seek, piece.window.n_frames, job_.prompt(history.tokens(), language), plain_prompt};
}

void Batched::finish(WindowResult result) {
  Piece& piece = under_way_.at(result.slot);
  Decoded& decoded = result.decoded;
  if (piece.without_tail) {
    const Decoded tail = std::move(decoded);
    decoded = std::move(*piece.without_tail);
    add_tail(decoded, tail);
  } else if (lacks_tail(piece, decoded)) {
    WindowTask rest = task(result.slot);
    std::ranges::copy(decoded.tokens, std::back_inserter(rest.prompt));
    rest.plain_prompt = rest.prompt;
    rest.tail = true;
    piece.without_tail = std::move(decoded);
    return job_.windows.begin({std::move(rest)});
  }

  Pending& window = pending(piece);
  --window.pieces_left;
  const bool silent = is_silence(decoded, job_.options.thresholds);
  const bool doubtful =
      piece.retry > 0 && (needs_fallback(decoded, job_.options.thresholds) || says_again(piece, decoded) ||
                          is_too_fast(decoded.text, piece.speech.front().end - piece.speech.front().start));
  if (!silent && !doubtful) {
    std::vector<Segment> segments = segments_of(piece, result.slot, decoded);
    if (piece.retry < kMostPasses) decode_again(piece, segments);
    std::ranges::move(segments, std::back_inserter(window.segments));
  }
  under_way_.erase(result.slot);
}

// A model that ends with two timestamps leaves the sentence that begins there to the next window, as it learnt from
// sound that was cut anywhere. Here the sentence ends in this window, and there is no other that has it.
bool Batched::lacks_tail(const Piece& piece, const Decoded& decoded) const {
  const int zero = job_.engine.tokenizer.special().first_timestamp;
  const std::vector<int>& tokens = decoded.tokens;
  const size_t n = tokens.size();
  if (!job_.voice.active() || shares_sound(piece.number) || !decoded.ended || n < 2 || n > kMostBeforeTail) return false;
  if (needs_fallback(decoded, job_.options.thresholds) || is_silence(decoded, job_.options.thresholds)) return false;
  if (tokens[n - 1] < zero || tokens[n - 2] < zero) return false;
  const int64_t end = piece.window.seek * kMelHop + (tokens[n - 1] - zero) * kTimestampSamples;
  int64_t spoken = 0;
  for (const Speech& speech : piece.speech) spoken += std::max<int64_t>(0, speech.end - std::max(speech.start, end));
  return spoken >= kShortestTail;
}

// A tail that ends with a timestamp, as the model's texts do, belongs to the text; one without may have gone astray, and
// then says again what was said.
void Batched::add_tail(Decoded& decoded, const Decoded& tail) const {
  const int zero = job_.engine.tokenizer.special().first_timestamp;
  const auto text = std::ranges::find_if(tail.tokens, [&](int token) { return token < zero; });
  if (text == tail.tokens.end() || needs_fallback(tail, job_.options.thresholds)) return;
  const size_t n_before = decoded.tokens.size();
  decoded.tokens.insert(decoded.tokens.end(), text, tail.tokens.end());
  if (decoded.tokens.back() < zero && (!tail.ended || repeats(decoded.tokens, n_before))) decoded.tokens.resize(n_before);
}

bool Batched::shares_sound(int64_t number) const {
  const int64_t i = number - first_pending_;
  return pending_[i].planned.goes_on || (i > 0 && pending_[i - 1].planned.goes_on);
}

std::vector<Segment> Batched::segments_of(const Piece& piece, int slot, const Decoded& decoded) {
  const double first_s = frame_seconds(piece.window.seek);
  const double last_s = frame_seconds(piece.window.seek + piece.window.n_frames);
  Cut cut = cut_whole_window(piece.window, decoded.tokens, decoded.ended, job_.engine.tokenizer);
  std::vector<Segment>& segments = cut.segments;
  if (job_.options.words.timestamps || shares_sound(piece.number) || job_.may_lack_speech(segments, piece.speech))
    job_.add_words(slot, piece.window.n_frames, segments, pending(piece).language, first_s);
  clear_blank_segments(segments);
  std::erase_if(segments, [](const Segment& segment) { return segment.text.empty(); });
  if (job_.voice.active()) {
    snap_to_speech(segments, piece.speech);
    part_at_lost_speech(segments, piece.speech, job_.engine.tokenizer);
  }
  clamp_times(segments, first_s, std::min(last_s, job_.read_s()));
  describe(segments, decoded);
  if (job_.language_per_window())
    for (Segment& segment : segments) segment.language = pending(piece).language;
  return std::move(segments);
}

// Whether all that was decoded again for lost speech is how the text before it ends: that ends later than its times say.
bool Batched::says_again(const Piece& piece, const Decoded& decoded) const {
  std::vector<int> before = piece.said;
  std::erase_if(before, [eot = job_.engine.tokenizer.special().eot](int token) { return token >= eot; });
  return bare(job_.engine.tokenizer.decode(before)).ends_with(bare(decoded.text));
}

// Plans another pass over what was heard but isn't in the segments, with the window's text before it in mind. Of a
// window's end less is worth it, as nobody else has that.
void Batched::decode_again(const Piece& piece, std::span<const Segment> segments) {
  if (!job_.voice.active() || shares_sound(piece.number) || piece.speech.empty()) return;
  std::vector<Speech> lost = lost_speech(piece.speech, segments, kWorthAPass);
  const int64_t end = piece.speech.back().end;
  if (lost.empty() || lost.back().end < end)
    std::ranges::copy_if(lost_speech(piece.speech, segments, kShortestTail), std::back_inserter(lost),
                         [end](const Speech& one) { return one.end == end; });
  for (const Speech& speech : lost) {
    const Window window = window_around(speech, piece.window, segments, job_.options.vad.pad_ms);
    if (window.n_frames >= piece.window.n_frames) continue;  // the same again would be no better
    Piece part{piece.number, piece.retry + 1, window, {speech}, {}, {}, false, piece.said, {}};
    for (const Segment& segment : segments)
      if (segment.start_s * kSampleRate < speech.start) std::ranges::copy(segment.tokens, std::back_inserter(part.said));
    part.unclamped.bins = piece.unclamped.bins;
    part.unclamped.values.resize(piece.unclamped.values.size());
    const auto first = piece.unclamped.values.begin() + (window.seek - piece.window.seek) * piece.unclamped.bins;
    std::copy(first, first + int64_t{window.n_frames} * part.unclamped.bins, part.unclamped.values.begin());
    part.mel = part.unclamped;
    clamp_to_own_maximum(part.mel, window.n_frames);
    lost_.push_back(std::move(part));
    ++pending(piece).pieces_left;
  }
}

// Hands on the segments of the windows that are done, as far as those before them are done, too.
void Batched::pass_on() {
  while (!pending_.empty() && pending_.front().pieces_left == 0) {
    Pending& window = pending_.front();
    const bool joined = window.planned.goes_on && (pending_.size() > 1 || !all_planned_);
    if (joined && (pending_.size() < 2 || pending_[1].pieces_left > 0)) return;
    std::ranges::stable_sort(window.segments, {}, &Segment::start_s);
    const int64_t end = window.planned.window.seek + window.planned.window.n_frames;
    if (joined)
      join(window.segments, pending_[1].segments, frame_seconds(pending_[1].planned.window.seek), frame_seconds(end),
           job_.engine.tokenizer);
    for (Segment& segment : window.segments) job_.add(std::move(segment));
    job_.report(end);
    pending_.pop_front();
    ++first_pending_;
  }
}

}  // namespace

// A window's cross-attention keys and values, those of its rows, and its encoding, as floats.
int windows_that_fit(const Dims& dims, int max_rows, int64_t memory_bytes) {
  constexpr int64_t kMostWindows = 8;  // more are hardly faster on a processor
  const int64_t positions = kAudioContext + int64_t{max_rows} * kTextContext;
  const int64_t values = (2 * dims.decoder_layers * positions + kAudioContext) * dims.width;
  return static_cast<int>(std::clamp<int64_t>(memory_bytes / 8 / (values * 4), 1, kMostWindows));
}

void transcribe_in_batches(Job& job) { Batched(job).run(); }

}  // namespace sotto
