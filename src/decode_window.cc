#include "src/decode_window.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "models/dims.h"
#include "models/utf8.h"
#include "src/suppress.h"

namespace sotto {
namespace {

// The tokens up to where the text at their end is said a second time.
void cut_loop(std::vector<int>& tokens, int eot) {
  std::vector<int> text;
  std::ranges::copy_if(tokens, std::back_inserter(text), [&](int token) { return token < eot; });
  const Repetition found = repetition_at_end(text);
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
    prompts.push_back(course.looped ? course.task.plain_prompt : course.task.prompt);
    all_settings.push_back(settings(course));
  }
  const std::vector<Beginning> beginnings = network_.begin(slots, prompts, all_settings);
  for (size_t i = 0; i < slots.size(); ++i) {
    Course& course = courses_.at(slots[i]);
    course.no_speech_prob = beginnings[i].no_speech_prob;
    course.guard.restart();
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

std::optional<Decoded> WindowDecoder::judge(Course& course, bool looped) {
  Decoded decoded = read(course, looped);
  if (!decoded.looped && !needs_fallback(decoded, options_.thresholds)) return decoded;
  course.looped |= decoded.looped;
  decoded.failed = guarded();
  course.failed.push_back(std::move(decoded));
  if (++course.attempt < options_.sampling.temperatures.size()) return std::nullopt;
  return best_of_failed(course.failed, options_.thresholds);
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
  if (looped) cut_loop(decoded.tokens, tokenizer_.special().eot);
  decoded.text = strip(tokenizer_.decode(decoded.tokens));
  decoded.temperature = options_.sampling.temperatures[course.attempt];
  decoded.avg_log_prob = best.sum_log_prob / static_cast<double>(best.tokens.size() + 1);
  decoded.compression_ratio = compression_ratio(decoded.text);
  decoded.no_speech_prob = course.no_speech_prob;
  decoded.ended = best.finished;
  decoded.looped = looped;
  return decoded;
}

void WindowDecoder::stop() {
  for (const auto& [slot, course] : courses_) network_.stop(slot);
  courses_.clear();
}

}  // namespace sotto
