#include "src/decode_window.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "models/dims.h"
#include "models/utf8.h"
#include "src/lost_speech.h"
#include "src/suppress.h"

namespace sotto {
namespace {

constexpr double kApart = 0.3;  // in temperature: nearer ones repeat each other's errors
constexpr int64_t kCutWord = kSampleRate / 2;  // of a word that the window's edge cuts, so much may lie outside

std::vector<int> text_of(const std::vector<int>& tokens, int eot) {
  std::vector<int> text;
  std::ranges::copy_if(tokens, std::back_inserter(text), [eot](int token) { return token < eot; });
  return text;
}

// The tokens up to where the text at their end is said a second time.
void cut_loop(std::vector<int>& tokens, int eot) {
  const Repetition found = repetition_at_end(text_of(tokens, eot));
  int too_many = found.n_text * (found.times - 1);
  while (too_many > 0) {
    if (tokens.back() < eot) --too_many;
    tokens.pop_back();
  }
}

}  // namespace

WindowDecoder::WindowDecoder(Network& network, const Tokenizer& tokenizer, const TranscribeOptions& options)
    : network_(network),
      tokenizer_(tokenizer),
      options_(options),
      suppress_(suppressed_tokens(options.sampling.suppress_tokens, tokenizer)) {}

void WindowDecoder::begin(std::vector<WindowTask> tasks) {
  std::vector<int> slots;
  for (WindowTask& task : tasks) {
    slots.push_back(task.slot);
    const double window_s = task.n_frames * kMelHop / double(kSampleRate);
    courses_.insert_or_assign(slots.back(),
                              Course{.task = std::move(task), .guard = {tokenizer_.special(), window_s}});
  }
  begin_attempts(slots);
}

void WindowDecoder::begin_attempts(const std::vector<int>& slots) {
  std::vector<std::vector<int>> prompts;
  std::vector<Settings> all_settings;
  for (const int slot : slots) {
    const Course& course = courses_.at(slot);
    prompts.push_back(course.misled ? course.task.plain_prompt : course.task.prompt);
    all_settings.push_back(settings(course));
  }
  const std::vector<Beginning> beginnings = network_.begin(slots, prompts, all_settings);
  for (size_t i = 0; i < slots.size(); ++i) {
    Course& course = courses_.at(slots[i]);
    course.no_speech_prob = beginnings[i].no_speech_prob;
    const bool may_go_on = course.looped && course.n_endless == 1;
    course.guard.restart(may_go_on ? course.said[course.first_loop] : std::vector<int>());
  }
}

// Beams at temperature 0, independent samples above it.
Settings WindowDecoder::settings(const Course& course) const {
  const SamplingOptions& sampling = options_.sampling;
  const double temperature = sampling.temperatures[course.attempt];
  Settings settings;
  settings.temperature = static_cast<float>(temperature);
  if (temperature > 0) {
    settings.rows = sampling.best_of;
    settings.sample_key = sample_key(sampling.seed, course.task.seek, static_cast<int>(course.attempt));
  } else {
    settings.rows = sampling.beam_size;
    settings.patience = static_cast<float>(sampling.patience);
  }
  settings.timestamps = !course.task.tail;  // they come without rules there: the rules know what was sampled alone
  settings.suppress = suppress_;
  return settings;
}

std::vector<WindowResult> WindowDecoder::step() {
  std::vector<WindowResult> results;
  std::vector<int> again;
  for (const Progress& progress : network_.step()) {
    Course& course = courses_.at(progress.slot);
    const bool looped = guarded() && course.guard.loops(progress);
    if (looped) network_.stop(progress.slot);
    if (!progress.finished && !looped) continue;
    if (auto decoded = judge(course, looped)) {
      results.push_back({progress.slot, std::move(*decoded)});
      courses_.erase(progress.slot);
    } else {
      again.push_back(progress.slot);
    }
  }
  if (!again.empty()) begin_attempts(again);
  return results;
}

// Off where exactly the reference's loop is asked for: it knows no guard, and without a temperature to go on to no remedy.
bool WindowDecoder::guarded() const {
  return options_.sampling.temperatures.size() > 1 || options_.voice_activity || options_.mode == Mode::batched;
}

std::optional<Decoded> WindowDecoder::judge(Course& course, bool looped) {
  Decoded decoded = read(course, looped);
  if (!decoded.looped && !needs_fallback(decoded, options_.thresholds)) return decoded;
  // One that ran to the limit of tokens over the same words is a loop, too, if a slow one.
  decoded.looped |= guarded() && !decoded.ended && repetitive(decoded, options_.thresholds);
  const int eot = tokenizer_.special().eot;
  if (decoded.looped && !course.looped) course.first_loop = course.said.size();
  const bool first_misled = (decoded.looped || decoded.too_fast) && !course.misled;
  course.looped |= decoded.looped;
  course.misled |= first_misled;
  course.n_endless += decoded.looped || !decoded.ended;
  course.said.push_back(text_of(decoded.tokens, eot));
  if (decoded.looped) {
    cut_loop(decoded.tokens, eot);
    decoded.text = strip(tokenizer_.decode(decoded.tokens));  // the ratio remains that of all of it
    decoded.too_fast = is_too_much(course, decoded.text);
  }
  decoded.failed = guarded();
  course.failed.push_back(std::move(decoded));
  if (auto genuine = agreed(course)) return genuine;
  const bool last = course.attempt + 1 == options_.sampling.temperatures.size();
  if (first_misled && (last || course.task.prompt != course.task.plain_prompt)) return std::nullopt;
  if (!last) {
    ++course.attempt;
    return std::nullopt;
  }
  Decoded best = best_of_failed(course.failed, options_.thresholds);
  if (best.too_fast) {
    best.tokens.clear();
    best.text.clear();
  }
  return best;
}

// Where the last attempt is sure, has come to its end and says the same again and again as one at a temperature well apart
// from it: the first whole attempt that says so, too.
std::optional<Decoded> WindowDecoder::agreed(const Course& course) const {
  const Decoded& last = course.failed.back();
  if (!guarded() || !merely_repetitive(last, options_.thresholds)) return std::nullopt;
  const bool one_temperature = options_.sampling.temperatures.size() == 1;
  const Decoded* whole = nullptr;
  bool agreed = false;
  for (size_t i = 0; i + 1 < course.failed.size(); ++i) {
    if (!agree_on_repetition(course.said[i], course.said.back())) continue;
    agreed |= one_temperature || last.temperature - course.failed[i].temperature > kApart;
    if (!whole && merely_repetitive(course.failed[i], options_.thresholds)) whole = &course.failed[i];
  }
  if (!agreed) return std::nullopt;
  Decoded genuine = whole ? *whole : last;
  genuine.failed = false;
  return genuine;
}

// Of a loop that was stopped, rows that had ended before it count alone, if there are any.
Decoded WindowDecoder::read(const Course& course, bool looped) const {
  std::vector<Hypothesis> hypotheses = network_.hypotheses(course.task.slot);
  const auto unfinished = [](const Hypothesis& hypothesis) { return !hypothesis.finished; };
  if (looped && !std::ranges::all_of(hypotheses, unfinished)) {
    std::erase_if(hypotheses, unfinished);
    looped = false;
  }
  const Hypothesis& best = best_hypothesis(hypotheses, options_.sampling.length_penalty);
  Decoded decoded;
  decoded.tokens = best.tokens;
  decoded.temperature = options_.sampling.temperatures[course.attempt];
  decoded.avg_log_prob = best.sum_log_prob / static_cast<double>(best.tokens.size() + 1);
  decoded.no_speech_prob = course.no_speech_prob;
  decoded.ended = best.finished;
  decoded.looped = looped;
  decoded.text = strip(tokenizer_.decode(decoded.tokens));
  decoded.compression_ratio = compression_ratio(decoded.text);
  decoded.too_fast = is_too_much(course, decoded.text);
  return decoded;
}

// For the sound of its window. The reference knows no such test.
bool WindowDecoder::is_too_much(const Course& course, const std::string& text) const {
  if (options_.mode == Mode::sequential && !options_.voice_activity) return false;
  return is_too_fast(text, int64_t{course.task.n_frames} * kMelHop, kCutWord);
}

void WindowDecoder::stop() {
  for (const auto& [slot, course] : courses_) network_.stop(slot);
  courses_.clear();
}

}  // namespace sotto
