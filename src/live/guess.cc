#include "src/live/guess.h"

#include <algorithm>
#include <cmath>

#include "src/loop_guard.h"
#include "src/options.h"
#include "src/word_split.h"

namespace sotto {
namespace {

constexpr int kLoopTimes = 4;    // people say a word three times, and hardly anything more often
constexpr int kLoopTokens = 8;

// The best token of a greedy step that goes on.
void append(Guess& guess, const Progress& progress) {
  const SampledRow& row = progress.rows.front();
  guess.tokens.push_back({row.token, progress.most_attended, row.log_prob});
}

bool belongs_to_word_before(const std::string& text) {
  static const std::string kMarks = WordOptions().append_punctuations;
  return !text.empty() && text[0] != ' ' && kMarks.find(text) != std::string::npos;
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
    if (guess.looped && !finished) {
      network.stop(slot);
      break;
    }
  }
  const Hypothesis best = network.hypotheses(slot).front();
  guess.ended = best.finished;
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
      word.probability += std::exp(guess.tokens[i].log_prob);
    }
  }
  for (GuessedWord& word : words) word.probability /= static_cast<float>(word.tokens.size());
  return words;
}

size_t committable(std::span<const GuessedWord> words, std::span<const GuessedWord> before, bool ended, int n_frames,
                   const CommitRules& rules) {
  const size_t whole = ended || words.empty() ? words.size() : words.size() - 1;
  bool agreed = true;
  size_t n = 0;
  for (; n < whole; ++n) {
    agreed = agreed && n < before.size() && before[n].text == words[n].text;
    if (words[n].last_frame >= n_frames - (agreed ? rules.agreed_frames : rules.sure_frames)) break;
  }
  return n;
}

}  // namespace sotto
