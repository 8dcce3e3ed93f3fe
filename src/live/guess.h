// What one pass over the window says of the text that isn't committed yet, and how much of that may be committed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/network.h"
#include "models/tokenizer.h"

namespace sotto {

struct GuessedToken {
  int token;
  int frame;       // encoder position (20 ms) that was looked at most when it was sampled
  float log_prob;
};

struct Guess {
  std::vector<GuessedToken> tokens;  // text that follows what is committed
  bool ended = false;                // by end-of-transcript, not by the limit
  bool looped = false;               // says the same again and again
  double no_speech_prob = 0;
  double avg_log_prob = 0;           // end-of-transcript included
};

// Decodes a slot that holds an encoded window, greedily. prompt: all that the decoder is given, committed text included.
// context: the committed text before the guess, by which a loop shows. window_s: how much sound the window holds.
Guess decode_guess(Network& network, int slot, std::vector<int> prompt, const Settings& settings,
                   std::span<const int> context, double window_s);

// A word of a guess, with the marks that belong to it.
struct GuessedWord {
  std::string text;  // with its leading space
  std::vector<int> tokens;
  int first_frame = 0, last_frame = 0;  // the least and the largest that its tokens were sampled at
  float probability = 0;                // mean of its tokens
};

std::vector<GuessedWord> words_of(const Guess& guess, const Tokenizer& tokenizer, std::string_view language);

// Attention that comes close to the end of the sound is about a word that isn't all there: the decoder makes up the rest
// of it. Source: Papi, Turchi, Negri, "AlignAtt" (arXiv 2305.11408). How far from the end a word may be committed:
struct CommitRules {
  int agreed_frames = 15;  // where the pass before said the same
  int sure_frames = 50;    // where it didn't
};

// How many of a guess's first words may be committed. before: words of the pass before at the same place. n_frames: encoder
// positions with sound. The last word may go on, so it is none of them unless the decoder ended after it.
size_t committable(std::span<const GuessedWord> words, std::span<const GuessedWord> before, bool ended, int n_frames,
                   const CommitRules& rules);

// Whether a text ends in the same words over and over.
bool ends_in_loop(const std::vector<int>& text);

}  // namespace sotto
