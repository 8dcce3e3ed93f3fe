// A decoder that falls into a loop writes the same words again and again, surer each time, until it runs out of tokens.
// The guard sees it while it happens.
#pragma once

#include <utility>
#include <vector>

#include "kernels/network.h"
#include "models/dims.h"

namespace sotto {

// n_text tokens at the end of a text, said `times` times in a row. times is 1 where nothing is repeated.
struct Repetition {
  int n_text = 0;
  int times = 1;
};

// What a text ends with, in the shortest period that repeats most of it.
Repetition repetition_at_end(const std::vector<int>& text);

// Whether two texts repeat the same thing at their ends, but for a full stop or the like.
bool same_repetition(const std::vector<int>& a, const std::vector<int>& b);

// ... and the second one, which came to its end by itself, about as often as the first or more, whose end may be missing.
// Two attempts at one window that do so have heard it: a decoder that goes astray loops over something else at another
// temperature, or doesn't end.
bool agree_on_repetition(const std::vector<int>& a, const std::vector<int>& b);

class LoopGuard {
 public:
  // window_s: how much sound the text is of.
  LoopGuard(const SpecialTokens& special, double window_s);

  // To be told of every step. True once the most probable row is in a loop: it says the same far more often than could
  // be spoken in the window, or again and again with ever more confidence.
  bool loops(const Progress& progress);

  // The next step is another attempt's first. heard: text tokens of an attempt that was stopped in a loop, which is to
  // go on this time if it comes again and can be spoken in the window, so that its end is known.
  void restart(std::vector<int> heard = {}) {
    rows_ = {{}};
    heard_ = std::move(heard);
  }

 private:
  struct Row {
    std::vector<int> text;          // timestamps left out
    std::vector<float> log_probs;   // of it
    double sum = 0;                 // of all tokens
    int n = 0;
  };
  bool is_loop(const Row& row) const;

  SpecialTokens special_;
  double window_s_;
  std::vector<Row> rows_ = {{}};
  std::vector<int> heard_;
};

}  // namespace sotto
