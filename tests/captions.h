// Captions to feed outputs with.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "src/live/caption.h"

// The words of a text, each with the space before it, as many a second as asked for.
inline std::vector<sotto::Word> spoken(const std::string& text, double start_s, double words_per_second = 2.5) {
  std::vector<sotto::Word> words;
  std::istringstream in(text);
  for (std::string word; in >> word; start_s += 1 / words_per_second)
    words.push_back({start_s, start_s + 0.9 / words_per_second, " " + word, 0.9f});
  return words;
}

inline std::string text_of(const std::vector<sotto::Word>& words) {
  std::string text;
  for (const sotto::Word& word : words) text += word.text;
  return text;
}

// Somebody who says sentences, one utterance after the other, as the captioner tells it: each word is first in the tail,
// and committed a few words later.
inline std::vector<sotto::CaptionUpdate> told(const std::vector<std::string>& utterances, const std::string& language = "en",
                                              double pause_s = 1.5) {
  constexpr size_t kTail = 3;
  std::vector<sotto::CaptionUpdate> updates;
  double at_s = 1;
  for (const std::string& utterance : utterances) {
    const std::vector<sotto::Word> words = spoken(utterance, at_s);
    for (size_t n = 1; n <= words.size(); ++n) {
      sotto::CaptionUpdate& update = updates.emplace_back();
      const size_t committed = n > kTail ? n - kTail : 0;
      if (committed > 0) update.committed = {words[committed - 1]};
      update.tail.assign(words.begin() + committed, words.begin() + n);
      update.heard_s = words[n - 1].end_s + 0.3;
      update.language = language;
    }
    sotto::CaptionUpdate& last = updates.emplace_back();
    last.committed.assign(words.end() - std::min(words.size(), kTail), words.end());
    last.heard_s = words.back().end_s + 0.5;
    last.ends_utterance = true;
    last.language = language;
    at_s = words.back().end_s + pause_s;
  }
  return updates;
}

// A lecture of so many utterances, no two the same.
inline std::vector<std::string> lecture(int n_utterances) {
  std::vector<std::string> utterances;
  for (int i = 0; i < n_utterances; ++i) {
    const std::string number = std::to_string(i);
    switch (i % 4) {
      case 0: utterances.push_back("This is sentence number " + number + " of the lecture, and it goes on for a while, "
                                   "because people who speak freely rarely stop where a subtitle would like them to, and "
                                   "so it has to be parted where it makes sense."); break;
      case 1: utterances.push_back("Yes. And then " + number + " came."); break;
      case 2: utterances.push_back("Mr. Miller <said> \"tools & parts\" --> " + number + ". Dr. Jones didn't agree with him at "
                                   "all, and said so in the U.S. and elsewhere."); break;
      default: utterances.push_back("Number " + number + "!"); break;
    }
  }
  return utterances;
}
