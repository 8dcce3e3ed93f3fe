#include "src/live/guess.h"

#include <algorithm>
#include <cmath>

#include "src/live/score.h"
#include "src/loop_guard.h"
#include "src/options.h"
#include "src/word_split.h"

namespace sotto {
namespace {

constexpr int kLoopTimes = 4;    // people say a word three times, and hardly anything more often
constexpr int kLoopTokens = 8;
constexpr int kFrameMs = 20;     // an encoder position

// The best token of a greedy step that goes on.
void append(Guess& guess, const Progress& progress) {
  const SampledRow& row = progress.rows.front();
  guess.tokens.push_back({row.token, progress.most_attended, row.log_prob});
}

// Takes away all that is said over and over.
void cut_loop(Guess& guess, const std::vector<int>& text) {
  const Repetition found = repetition_at_end(text);
  const size_t n = static_cast<size_t>(found.n_text) * found.times;
  guess.tokens.resize(guess.tokens.size() - std::min(n, guess.tokens.size()));
}

bool belongs_to_word_before(const std::string& text) {
  static const std::string kMarks = WordOptions().append_punctuations;
  return !text.empty() && text[0] != ' ' && kMarks.find(text) != std::string::npos;
}

// "20" may become "21", and "7" "17".
bool ends_in_digit(const std::string& text) {
  const std::vector<std::string> plain = plain_words(text);
  return !plain.empty() && plain.back().back() >= '0' && plain.back().back() <= '9';
}

}  // namespace

bool ends_in_loop(const std::vector<int>& text) {
  const Repetition found = repetition_at_end(text);
  return found.times >= kLoopTimes && found.times * found.n_text >= kLoopTokens;
}

Guess decode_guess(Network& network, int slot, std::vector<int> prompt, const Settings& settings,
                   std::span<const int> context, double window_s) {
  const SpecialTokens special = special_tokens(network.dims().vocabulary);
  Guess guess;
  const std::vector<std::vector<int>> prompts = {std::move(prompt)};
  guess.no_speech_prob = network.begin({&slot, 1}, prompts, {&settings, 1}).front().no_speech_prob;
  LoopGuard guard(special, window_s);
  std::vector<int> text(context.begin(), context.end());
  for (bool finished = false; !finished;) {
    const Progress progress = network.step().front();
    finished = progress.finished;
    if (!progress.rows.empty() && progress.rows.front().token < special.eot) {
      append(guess, progress);
      text.push_back(guess.tokens.back().token);
    }
    guess.looped = guard.loops(progress) || ends_in_loop(text);
    if (!guess.looped) continue;
    if (!finished) network.stop(slot);
    finished = true;
    cut_loop(guess, text);
  }
  const Hypothesis best = network.hypotheses(slot).front();
  guess.ended = best.finished && !guess.looped;
  guess.avg_log_prob = best.sum_log_prob / static_cast<double>(best.tokens.size() + 1);
  return guess;
}

std::vector<GuessedWord> words_of(const Guess& guess, const Tokenizer& tokenizer, std::string_view language) {
  std::vector<int> tokens;
  for (const GuessedToken& guessed : guess.tokens) tokens.push_back(guessed.token);
  std::vector<GuessedWord> words;
  for (const WordTokens& split : split_into_words(tokens, tokenizer, language)) {
    if (words.empty() || !belongs_to_word_before(split.text)) words.push_back({.first_frame = guess.tokens[split.begin].frame});
    GuessedWord& word = words.back();
    word.text += split.text;
    for (int i = split.begin; i < split.end; ++i) {
      word.tokens.push_back(tokens[i]);
      word.first_frame = std::min(word.first_frame, guess.tokens[i].frame);
      word.last_frame = std::max(word.last_frame, guess.tokens[i].frame);
      const float probability = std::exp(guess.tokens[i].log_prob);
      word.probability += probability;
      word.least_probability = std::min(word.least_probability, probability);
    }
  }
  for (GuessedWord& word : words) word.probability /= static_cast<float>(word.tokens.size());
  return words;
}

void compare_with(std::span<const GuessedWord> before, double heard_s, std::vector<GuessedWord>& words) {
  bool agreed = true;
  for (size_t i = 0; i < words.size(); ++i) {
    agreed = agreed && i < before.size() && plain_words(before[i].text) == plain_words(words[i].text);
    words[i].since_s = agreed ? before[i].since_s : heard_s;
  }
}

size_t committable(std::span<const GuessedWord> words, bool ended, int n_frames, double heard_s, const CommitRules& rules) {
  const size_t whole = ended || words.empty() ? words.size() : words.size() - 1;
  size_t n = 0;
  for (; n < whole; ++n) {
    const bool doubtful = words[n].least_probability < rules.probable || ends_in_digit(words[n].text);
    const int wanted_ms = doubtful ? rules.doubt_ms : rules.stable_ms;
    const bool stable = (heard_s - words[n].since_s) * 1000 >= wanted_ms;
    const int margin = (stable ? rules.margin_ms : rules.sure_ms) / kFrameMs;
    if (words[n].last_frame >= n_frames - margin) break;
  }
  return n;
}

}  // namespace sotto
