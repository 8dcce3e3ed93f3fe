// Measures captions where a reader would get them: behind the outputs, by the clock of the source.
#pragma once

#include <string>
#include <vector>

#include "audio/clock.h"
#include "src/live/caption.h"

namespace sotto {

class Meter : public CaptionOutput {
 public:
  // Passes all on to `shown`, and looks at the clock when that has returned.
  Meter(CaptionOutput& shown, const Clock& clock) : shown_(shown), clock_(clock) {}

  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override { shown_.level(heard_s, level_db, speaking); }
  void notice(double heard_s, const std::string& sentence) override { shown_.notice(heard_s, sentence); }
  void finish() override { shown_.finish(); }

  // A plain word (score.h) of the committed text.
  struct Committed {
    std::string text;
    double shown_s;      // when it came up at this place of the text and stayed, be it in the tail
    double committed_s;
  };
  const std::vector<Committed>& committed() const { return committed_; }
  int n_erased() const { return n_erased_; }    // words of tails that were changed or taken back
  // Words that aren't in an output's text at the end as they were when they were committed: changed, lost, put in.
  int n_changed(const std::string& text_at_end) const;
  double most_behind_s() const { return most_behind_s_; }

 private:
  struct Shown {
    std::string text;
    double since_s;
  };

  CaptionOutput& shown_;
  const Clock& clock_;
  std::vector<Committed> committed_;
  std::vector<Shown> tail_;  // plain words behind the committed ones
  int n_erased_ = 0;
  double most_behind_s_ = 0;
};

}  // namespace sotto
