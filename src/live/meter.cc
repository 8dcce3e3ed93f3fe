#include "src/live/meter.h"

#include <algorithm>

#include "src/live/score.h"

namespace sotto {

void Meter::update(const CaptionUpdate& update) {
  shown_.update(update);
  const double now_s = clock_.now_s();
  most_behind_s_ = std::max(most_behind_s_, update.behind_s);

  std::string committed, tail;
  for (const Word& word : update.committed) {
    committed += word.text;
  }
  for (const Word& word : update.tail) tail += word.text;

  const std::vector<std::string> final_words = plain_words(committed);
  std::vector<Shown> now;
  for (const std::string& text : final_words) now.push_back({text, now_s});
  for (std::string& text : plain_words(tail)) now.push_back({std::move(text), now_s});
  for (size_t i = 0; i < tail_.size(); ++i) {
    if (i < now.size() && now[i].text == tail_[i].text)
      now[i].since_s = tail_[i].since_s;
    else
      ++n_erased_;
  }
  for (size_t i = 0; i < final_words.size(); ++i) committed_.push_back({final_words[i], now[i].since_s, now_s});
  tail_.assign(now.begin() + std::ssize(final_words), now.end());
}

int Meter::n_changed(const std::string& text_at_end) const {
  std::vector<std::string> words;
  for (const Committed& word : committed_) words.push_back(word.text);
  return difference(words, plain_words(text_at_end)).n_edits;
}

}  // namespace sotto
