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
  bool looped = false;               // said the same again and again, which is left out
  double no_speech_prob = 0;
  double avg_log_prob = 0;           // end-of-transcript included
};

// Decodes a slot that holds an encoded window, greedily. prompt: all that the decoder is given, committed text included.
// context: the committed text before the guess, by which a loop shows. window_s: how much sound the window holds.
Guess decode_guess(Network& network, int slot, std::vector<int> prompt, const Settings& settings,
                   std::span<const int> context, double window_s);

// The same with settings.rows beams. Each token has the mean of all log-probs, and the frame that the best beam was at, at
// its step. After a loop there are none.
Guess decode_beams(Network& network, int slot, std::vector<int> prompt, const Settings& settings, double window_s);

// Full stops, commas and the like: nobody says them. The sound that a decoder looks at when it writes one, and how sure
// it is, tell nothing of the word beside it.
bool is_mark(int token, const Tokenizer& tokenizer);

// A word of a guess, with the marks that belong to it; at the beginning marks alone, of the last committed word.
struct GuessedWord {
  std::string text;  // with its leading space
  std::vector<int> tokens;
  int first_frame = 0, last_frame = 0;  // the least and the largest that its tokens were sampled at, marks left out
  float probability = 1;                // mean of these tokens
  float least_probability = 1;          // ... and that of the one that is least sure
  double since_s = 0;                   // how much sound was there when passes began to agree on it and all before it
};

// Without "...", which a decoder writes where the sound is cut off, as it always is here. Once committed it would stand
// before each word to come: "...this... pan... ...demic". (Not to let it sample that changes what else it writes.)
std::vector<GuessedWord> words_of(const Guess& guess, const Tokenizer& tokenizer, std::string_view language);

// Parts the marks that end a word from it, and puts them behind it.
void part_from_marks(std::vector<GuessedWord>& words, size_t word, const Tokenizer& tokenizer);

// Sets GuessedWord::since_s by the words that the pass before had at the same place, but for their marks; heard_s: the end
// of the sound now.
void compare_with(std::span<const GuessedWord> before, double heard_s, std::vector<GuessedWord>& words);

// Attention that comes close to the end of the sound is about a word that isn't all there: the decoder makes up the rest
// of it. Source: Papi, Turchi, Negri, "AlignAtt" (arXiv 2305.11408). And what passes say for some time is mostly true
// (Liu, Spanakis, Niehues, "local agreement", Interspeech 2020). When a word may be committed:
struct CommitRules {
  int margin_ms = 400;   // so long before the end of the sound
  int stable_ms = 640;   // and the passes over so much sound have agreed on it
  int doubt_ms = 1500;   // ... over so much, where a token of it isn't probable, or a number may go on
  float probable = 0.7f;
  int sure_ms = 2200;    // or so long before the end, whatever they said
};

// A token of it isn't probable, or it is a number, which may go on.
bool in_doubt(const GuessedWord& word, const CommitRules& rules);

// How many of a guess's first words may be committed. n_frames: encoder positions with sound, up to heard_s. The last word
// may go on, so it is none of them unless the decoder ended after it.
size_t committable(std::span<const GuessedWord> words, bool ended, int n_frames, double heard_s, const CommitRules& rules);

// Beams say better than a greedy pass what was heard where that is in doubt, but take words back more often. So they have
// the last word: `words`, of which the first n are to be committed, become those of `better` if they reach as far into the
// sound; gives how many of them may be committed.
size_t take_better(std::vector<GuessedWord>& words, size_t n, std::vector<GuessedWord> better, bool better_ended);

// Whether a text ends in the same words over and over.
bool ends_in_loop(const std::vector<int>& text);

}  // namespace sotto
