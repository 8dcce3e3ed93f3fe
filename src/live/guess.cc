#include "src/live/guess.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/utf8.h"
#include "src/fallback.h"
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

// "...", however it is written.
bool trails_off(int token, const Tokenizer& tokenizer) {
  const std::string text = tokenizer.decode({token});
  return text.find("..") != std::string::npos || text.find("…") != std::string::npos;
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

Guess decode_beams(Network& network, int slot, std::vector<int> prompt, const Settings& settings, double window_s) {
  const SpecialTokens special = special_tokens(network.dims().vocabulary);
  Guess guess;
  const std::vector<std::vector<int>> prompts = {std::move(prompt)};
  guess.no_speech_prob = network.begin({&slot, 1}, prompts, {&settings, 1}).front().no_speech_prob;
  LoopGuard guard(special, window_s);
  std::vector<int> frames;  // by step
  for (bool finished = false; !finished;) {
    const Progress progress = network.step().front();
    frames.push_back(progress.most_attended);
    finished = progress.finished;
    guess.looped = guard.loops(progress);
    if (!guess.looped) continue;
    if (!finished) network.stop(slot);
    return guess;
  }
  const std::vector<Hypothesis> all = network.hypotheses(slot);
  const Hypothesis& best = best_hypothesis(all, std::nullopt);
  guess.ended = best.finished;
  guess.avg_log_prob = best.sum_log_prob / static_cast<double>(best.tokens.size() + 1);
  for (size_t i = 0; i < std::min(best.tokens.size(), frames.size()); ++i)
    guess.tokens.push_back({best.tokens[i], frames[i], static_cast<float>(guess.avg_log_prob)});
  return guess;
}

bool is_mark(int token, const Tokenizer& tokenizer) {
  static const std::string kMarks = WordOptions().append_punctuations + WordOptions().prepend_punctuations + ";—–";
  const std::string text = tokenizer.decode({token});
  std::string_view rest = strip(text);
  bool all = !rest.empty();
  for (; all && !rest.empty(); rest.remove_prefix(first_character(rest).length))
    all = kMarks.find(rest.substr(0, first_character(rest).length)) != std::string::npos;
  return all;
}

std::vector<GuessedWord> words_of(const Guess& guess, const Tokenizer& tokenizer, std::string_view language) {
  std::vector<GuessedToken> said;
  std::vector<int> tokens;
  for (const GuessedToken& guessed : guess.tokens) {
    if (trails_off(guessed.token, tokenizer)) continue;
    said.push_back(guessed);
    tokens.push_back(guessed.token);
  }
  std::vector<GuessedWord> words;
  std::vector<float> probabilities;
  for (const WordTokens& split : split_into_words(tokens, tokenizer, language)) {
    if (words.empty() || !belongs_to_word_before(split.text)) {
      words.emplace_back();
      probabilities.clear();
    }
    GuessedWord& word = words.back();
    word.text += split.text;
    for (int i = split.begin; i < split.end; ++i) {
      word.tokens.push_back(tokens[i]);
      if (is_mark(tokens[i], tokenizer)) continue;
      const int frame = said[i].frame;
      word.first_frame = probabilities.empty() ? frame : std::min(word.first_frame, frame);
      word.last_frame = std::max(word.last_frame, frame);
      probabilities.push_back(std::exp(said[i].log_prob));
    }
    if (probabilities.empty()) continue;
    const float sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0f);
    word.probability = sum / static_cast<float>(probabilities.size());
    word.least_probability = std::ranges::min(probabilities);
  }
  return words;
}

void part_from_marks(std::vector<GuessedWord>& words, size_t word, const Tokenizer& tokenizer) {
  std::vector<int>& tokens = words[word].tokens;
  const auto mark = [&](int token) { return is_mark(token, tokenizer); };
  const auto last = std::find_if_not(tokens.rbegin(), tokens.rend(), mark);  // token of the word itself
  if (last == tokens.rbegin() || last == tokens.rend()) return;
  GuessedWord marks = words[word];
  marks.tokens.assign(last.base(), tokens.end());
  tokens.erase(last.base(), tokens.end());
  marks.text = tokenizer.decode(marks.tokens);
  words[word].text = tokenizer.decode(tokens);
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(word) + 1, std::move(marks));
}

void compare_with(std::span<const GuessedWord> before, double heard_s, std::vector<GuessedWord>& words) {
  bool agreed = true;
  for (size_t i = 0; i < words.size(); ++i) {
    agreed = agreed && i < before.size() && plain_words(before[i].text) == plain_words(words[i].text);
    words[i].since_s = agreed ? before[i].since_s : heard_s;
  }
}

bool in_doubt(const GuessedWord& word, const CommitRules& rules) {
  return word.least_probability < rules.probable || ends_in_digit(word.text);
}

size_t committable(std::span<const GuessedWord> words, bool ended, int n_frames, double heard_s, const CommitRules& rules) {
  const size_t whole = ended || words.empty() ? words.size() : words.size() - 1;
  size_t n = 0;
  for (; n < whole; ++n) {
    const int wanted_ms = in_doubt(words[n], rules) ? rules.doubt_ms : rules.stable_ms;
    const bool stable = (heard_s - words[n].since_s) * 1000 >= wanted_ms;
    const int margin = (stable ? rules.margin_ms : rules.sure_ms) / kFrameMs;
    if (words[n].last_frame >= n_frames - margin) break;
  }
  return n;
}

size_t take_better(std::vector<GuessedWord>& words, size_t n, std::vector<GuessedWord> better, bool better_ended) {
  size_t n_better = 0;
  while (n_better < better.size() && better[n_better].last_frame <= words[n - 1].last_frame) ++n_better;
  if (n_better == 0 || (n_better == better.size() && !better_ended)) return n;
  for (size_t i = 0; i < std::min(words.size(), better.size()) && better[i].tokens == words[i].tokens; ++i)
    better[i] = words[i];  // which knows how sure each of its tokens is
  words = std::move(better);
  return n_better;
}

}  // namespace sotto
