// A decoder that falls into a loop writes the same words again and again, surer each time, until it runs out of tokens.
// The guard sees it while it happens.
#pragma once

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

class LoopGuard {
 public:
  // window_s: how much sound the text is of.
  LoopGuard(const SpecialTokens& special, double window_s);

  // To be told of every step. True once the most probable row is in a loop: it says the same far more often than could
  // be spoken in the window, or again and again with ever more confidence.
  bool loops(const Progress& progress);

  void restart() { rows_ = {{}}; }  // the next step is another attempt's first

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
};

}  // namespace sotto
