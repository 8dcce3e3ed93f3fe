// Encoded windows to the tokens that are taken for them: any number of windows side by side, each in its slot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/network.h"
#include "models/tokenizer.h"
#include "src/fallback.h"
#include "src/loop_guard.h"
#include "src/options.h"

namespace sotto {

struct WindowTask {
  int slot = 0;
  int64_t seek = 0;                // the window's first frame
  int n_frames = 0;
  std::vector<int> prompt;         // whole_prompt() of it
  std::vector<int> plain_prompt;   // ... without the text before the window, for after a loop
  bool tail = false;               // the prompt holds the window's text but for its end
};

struct WindowResult {
  int slot;
  Decoded decoded;
};

class WindowDecoder {
 public:
  // Throws Error for tokens to suppress that aren't any.
  WindowDecoder(Network& network, const Tokenizer& tokenizer, const TranscribeOptions& options);

  // Begins with windows that their slots hold, beside those that are under way.
  void begin(std::vector<WindowTask> tasks);

  // One token for every window, and what is done after it. A decoding that isn't good is begun again in its slot at the
  // next temperature, while the others go on; after the first that was a loop, or more than can be said in the window,
  // without the text before the window, if there was one, at the same. What attempts at two temperatures repeat alike
  // counts as said. If all fail, the most probable is taken, but none that can't be said in the window.
  std::vector<WindowResult> step();

  bool busy() const { return !courses_.empty(); }
  void stop();  // gives up what is under way

 private:
  // A window on its way through the temperatures.
  struct Course {
    WindowTask task;
    size_t attempt = 0;
    bool looped = false;         // one of the attempts
    bool misled = false;         // ... or it gave more text than can be said in the window
    size_t first_loop = 0;       // ... which one
    int n_endless = 0;           // attempts that were stopped in a loop, or by the limit of tokens
    std::vector<std::vector<int>> said;  // text tokens of the failed attempts, loops and all
    float no_speech_prob = 0;    // in this attempt
    LoopGuard guard;
    std::vector<Decoded> failed;
  };

  void begin_attempts(const std::vector<int>& slots);
  Settings settings(const Course& course) const;
  bool guarded() const;
  bool is_too_much(const Course& course, const std::string& text) const;
  Decoded read(const Course& course, bool looped) const;
  // What is taken for a window whose attempt has ended; none: the next one is to begin.
  std::optional<Decoded> judge(Course& course, bool looped);
  std::optional<Decoded> agreed(const Course& course) const;

  Network& network_;
  const Tokenizer& tokenizer_;
  const TranscribeOptions& options_;
  std::shared_ptr<const TokenSet> suppress_;
  std::map<int, Course> courses_;  // by slot
};

}  // namespace sotto
