#include "src/live/outputs/sentences.h"

#include <algorithm>
#include <iterator>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr int kNeverCut = 1 << 24;        // columns
constexpr double kLongestSentence_s = 30; // nobody waits for longer

}  // namespace

Transcript transcript_of(std::span<const Word> words, std::string_view language) {
  Transcript transcript;
  transcript.language = language;
  Segment& segment = transcript.segments.emplace_back();
  segment.words.assign(words.begin(), words.end());
  for (Word& word : segment.words) {
    word.text = valid_utf8(word.text);
    segment.text += word.text;
  }
  if (!words.empty()) {
    segment.start_s = words.front().start_s;
    segment.end_s = words.back().end_s;
  }
  return transcript;
}

WordUnits units_of_words(std::span<const Word> words, std::string_view language) {
  const Transcript transcript = transcript_of(words, language);
  WordUnits result;
  if (words.empty()) return result;  // a segment's text would stand for its words
  result.units = units_of(transcript, kNeverCut);
  size_t word = 0, seen = 0, end = 0;  // visible characters up to the unit's end, and to the word's
  const std::vector<Word>& valid = transcript.segments[0].words;
  for (const Unit& unit : result.units) {
    seen += count_visible(unit.word.text);
    if (end == 0) end = count_visible(valid[0].text);
    while (end < seen && word + 1 < valid.size()) end += count_visible(valid[++word].text);
    result.words.push_back(word);
  }
  return result;
}

std::vector<bool> begins_sentence(std::span<const Word> words, std::string_view language) {
  std::vector<bool> begins(words.size(), false);
  const WordUnits all = units_of_words(words, language);
  for (size_t i = 0; i < all.units.size(); ++i)
    if (all.units[i].begins_sentence && (i == 0 || all.words[i] != all.words[i - 1])) begins[all.words[i]] = true;
  if (!begins.empty()) begins[0] = true;
  return begins;
}

size_t count_visible(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    count += !control && !is_white_space(character.code);
    text.remove_prefix(character.length);
  }
  return count;
}

std::vector<std::vector<Word>> SentenceGatherer::take(const CaptionUpdate& update) {
  std::vector<std::vector<Word>> sentences;
  std::vector<Word> words = std::move(open_);
  words.insert(words.end(), update.committed.begin(), update.committed.end());
  const size_t n_committed = words.size();
  words.insert(words.end(), update.tail.begin(), update.tail.end());  // they show whether a sentence is over
  const std::vector<bool> begins = begins_sentence(words, update.language);
  size_t first = 0;
  for (size_t i = 1; i <= n_committed; ++i) {
    const bool over = i < words.size() && begins[i];
    const bool paused = i == n_committed && update.ends_utterance;
    const bool too_long = words[i - 1].end_s - words[first].start_s > kLongestSentence_s;
    if (!over && !paused && !too_long) continue;
    sentences.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(first), words.begin() + static_cast<std::ptrdiff_t>(i));
    first = i;
  }
  open_.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.begin() + static_cast<std::ptrdiff_t>(n_committed));
  return sentences;
}

std::vector<std::vector<Word>> SentenceGatherer::finish() {
  std::vector<std::vector<Word>> sentences;
  if (!open_.empty()) sentences.push_back(std::move(open_));
  open_.clear();
  return sentences;
}

}  // namespace sotto
