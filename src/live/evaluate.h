// How good live captions are: clips with known texts are played, and what comes out is measured.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/clock.h"
#include "src/live/captioner.h"
#include "src/live/meter.h"

namespace sotto {

struct EvaluatedClip {
  std::string path;
  std::string reference;          // what is said
  std::vector<Word> timed_words;  // when it is said: by hand if there are such times, else those of file_text
  std::string file_text;          // what transcribing the file gives
};

// One clip's, or those of several together. Delays are from the end of a word in the sound to the return of the output
// that showed it; of words that the live text has right.
struct LiveFigures {
  std::vector<double> commit_delays_s;
  std::vector<double> spoken_s;             // when the words of these delays ended in their clip
  std::vector<double> tail_delays_s;        // until the word came up and stayed, be it in the tail
  std::vector<double> first_word_delays_s;  // of each clip
  int n_erased = 0, n_shown = 0;            // words of tails that changed; words committed
  int n_changed = 0;
  int n_reference = 0, n_edits_live = 0, n_edits_file = 0;
  double sound_s = 0, busy_s = 0;
  double most_behind_s = 0;
  int n_passes = 0;
  std::string text;

  void add(const LiveFigures& other);
};

// What a meter saw of a clip that began at start_s of its clock. text_at_end: what the output shows as committed then.
void measure(const EvaluatedClip& clip, const Meter& meter, const std::string& text_at_end, double start_s,
             LiveFigures& figures);

// An output that can be looked at afterwards.
class ReadableOutput : public CaptionOutput {
 public:
  virtual std::string committed_text() = 0;  // as a reader of it finds it when it is finished
};

// Plays a clip by a clock of its own, to its end or until `stopped` says so. output: what is measured.
LiveFigures evaluate_clip(Engine& engine, const EvaluatedClip& clip, const LiveOptions& options, Clock& clock,
                          ReadableOutput& output, const std::function<bool()>& stopped = {});

double percentile(std::vector<double> values, double share);  // nearest rank; 0 of none

std::string figures_line(const std::string& name, const LiveFigures& figures);  // of a table
std::string figures_head();
// ... of the parts of a clip, each of so much sound, so that a delay that grows shows; empty if there is one part.
std::string parts_lines(const LiveFigures& figures, double part_s = 600);
std::string figures_json(const LiveFigures& figures);

}  // namespace sotto
