#include "src/words.h"

#include <algorithm>
#include <cmath>

#include "models/dims.h"
#include "src/attention_times.h"
#include "src/prompt.h"
#include "src/word_split.h"

namespace sotto {
namespace {

constexpr int kMostHeads = 24;
constexpr double kLongestMedian_s = 0.7;
constexpr std::string_view kSentenceEnds = ".。!！?？";

// How long words are in a window.
struct Durations {
  bool any = false;
  double median_s = 0;  // of those that take any time
  double longest_s = 0;
};

double duration_s(const Word& word) { return word.end_s - word.start_s; }

// To hundredths of a second.
double rounded(double time_s) { return std::nearbyint(time_s * 100) / 100; }

std::vector<int> text_of(std::span<const int> tokens, int eot) {
  std::vector<int> text;
  std::ranges::copy_if(tokens, std::back_inserter(text), [&](int token) { return token < eot; });
  return text;
}

Durations durations(const std::vector<Word*>& words) {
  std::vector<double> all_s;
  for (const Word* word : words)
    if (duration_s(*word) != 0) all_s.push_back(duration_s(*word));
  if (all_s.empty()) return {};
  std::ranges::sort(all_s);
  const size_t middle = all_s.size() / 2;
  const double median_s = all_s.size() % 2 ? all_s[middle] : (all_s[middle - 1] + all_s[middle]) / 2;
  const double capped_s = std::min(kLongestMedian_s, median_s);
  return {true, capped_s, capped_s * 2};
}

bool ends_sentence(const Word& word) { return kSentenceEnds.find(word.text) != std::string_view::npos; }

// The silence between two sentences isn't part of the mark at the first one's end, nor of the second one's first word.
void shorten_at_sentence_ends(const std::vector<Word*>& words, const Durations& usual) {
  if (!usual.any) return;
  for (size_t i = 1; i < words.size(); ++i) {
    Word& word = *words[i];
    if (duration_s(word) <= usual.longest_s) continue;
    if (ends_sentence(word))
      word.end_s = word.start_s + usual.longest_s;
    else if (ends_sentence(*words[i - 1]))
      word.start_s = word.end_s - usual.longest_s;
  }
}

// Nor is a pause before a segment part of its first or second word.
void shorten_after_pause(std::vector<Word>& words, const Durations& usual, double last_speech_s) {
  Word& first = words[0];
  Word* const second = words.size() > 1 ? &words[1] : nullptr;
  if (first.end_s - last_speech_s <= usual.median_s * 4) return;
  const bool both_long = second && second->end_s - first.start_s > usual.longest_s * 2;
  if (duration_s(first) <= usual.longest_s && !both_long) return;
  if (second && duration_s(*second) > usual.longest_s)
    first.end_s = second->start_s = std::max(second->end_s / 2, second->end_s - usual.longest_s);
  first.start_s = std::max(0.0, first.end_s - usual.longest_s);
}

// The segment takes its times from its words, but where a word reaches over the segment's own timestamp by more than
// half a second the timestamp is believed.
void fit_together(Segment& segment, const Durations& usual) {
  Word &first = segment.words.front(), &last = segment.words.back();
  if (segment.start_s < first.end_s && segment.start_s - 0.5 > first.start_s)
    first.start_s = std::max(0.0, std::min(first.end_s - usual.median_s, segment.start_s));
  else
    segment.start_s = first.start_s;
  if (segment.end_s > last.start_s && segment.end_s + 0.5 < last.end_s)
    last.end_s = std::max(last.start_s + usual.median_s, segment.end_s);
  else
    segment.end_s = last.end_s;
}

// The words of one segment, whose first text token is the n-th of the window.
std::vector<Word> words_of(const std::vector<WordTokens>& split, const TextTimes& times, size_t n) {
  std::vector<Word> words;
  for (const WordTokens& word : split) {
    const size_t begin = n + word.begin, end = n + word.end;
    double probs = 0;
    for (size_t i = begin; i < end; ++i) probs += times.probs[i];
    words.push_back({.start_s = times.starts_s[begin],
                     .end_s = times.starts_s[end],
                     .text = word.text,
                     .probability = static_cast<float>(probs / static_cast<double>(end - begin))});
  }
  return words;
}

}  // namespace

std::vector<std::pair<int, int>> timing_heads(const Weights& weights) {
  const int layers = weights.dims.decoder_layers, heads = weights.dims.heads;
  if ((layers - layers / 2) * heads > kMostHeads) return weights.alignment_heads;
  std::vector<std::pair<int, int>> upper_half;
  for (int layer = layers / 2; layer < layers; ++layer)
    for (int head = 0; head < heads; ++head) upper_half.emplace_back(layer, head);
  return upper_half;
}

TextTimes time_text(Network& network, int slot, int n_frames, std::span<const Segment> segments, int language,
                    bool translate) {
  const SpecialTokens special = special_tokens(network.dims().vocabulary);
  std::vector<int> tokens = whole_prompt({}, special, language, translate);
  const size_t last_before_text = tokens.size();
  tokens.push_back(special.no_timestamps);
  for (const Segment& segment : segments)
    std::ranges::copy(text_of(segment.tokens, special.eot), std::back_inserter(tokens));
  const size_t n = tokens.size() - last_before_text - 1;
  if (n == 0) return {{0}, {}};
  tokens.push_back(special.eot);

  const Alignment alignment = network.align(slot, tokens, n_frames / (kMelFrames / kAudioContext));
  const auto probs = alignment.token_probs.begin() + static_cast<std::ptrdiff_t>(last_before_text) + 1;
  return {token_times_s(alignment, static_cast<int>(last_before_text)), {probs, probs + static_cast<std::ptrdiff_t>(n)}};
}

void add_words(std::span<Segment> segments, const TextTimes& times, const Tokenizer& tokenizer,
               std::string_view written_language, const WordOptions& options, double last_speech_s) {
  size_t n = 0;
  for (Segment& segment : segments) {
    const std::vector<int> text = text_of(segment.tokens, tokenizer.special().eot);
    segment.words = words_of(split_into_words(text, tokenizer, written_language), times, n);
    n += text.size();
  }
  std::vector<Word*> all;
  for (Segment& segment : segments)
    for (Word& word : segment.words) all.push_back(&word);
  const Durations usual = durations(all);
  shorten_at_sentence_ends(all, usual);

  for (Segment& segment : segments) {
    merge_punctuation(segment.words, options.prepend_punctuations, options.append_punctuations);
    if (segment.words.empty()) continue;
    const double offset_s = segment.seek * kMelHop / double(kSampleRate);
    for (Word& word : segment.words) {
      word.start_s = rounded(offset_s + word.start_s);
      word.end_s = rounded(offset_s + word.end_s);
    }
    shorten_after_pause(segment.words, usual, last_speech_s);
    fit_together(segment, usual);
    last_speech_s = segment.end_s;
  }
}

double last_word_end_s(std::span<const Segment> segments) {
  for (size_t i = segments.size(); i-- > 0;)
    if (!segments[i].words.empty()) return segments[i].words.back().end_s;
  return segments.empty() ? 0 : segments.back().end_s;
}

}  // namespace sotto
