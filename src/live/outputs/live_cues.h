// Captions to cues, one after the other: the layout of files (subtitles/layout.h), as far as it goes when the rest of the
// text isn't known yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/live/caption.h"
#include "src/subtitles/cue.h"
#include "src/subtitles/style.h"

namespace sotto {

// Words are laid out together up to the end of a sentence or to a pause, once they would make a cue by themselves; a
// sentence that is too long for that loses its first cues as soon as the cues behind them are decided.
// A cue is given out when its end is: when the next words have been committed, or nobody spoke while it could be read.
// So cues keep the style's rules as those of files do: columns, lines, gap, longest time and order always.
class LiveCues {
 public:
  // Without a style it is "broadcast", whatever else is set. Throws Error for options that can't be, and for the
  // styles "plain" and "whisper", whose cues are the model's segments.
  explicit LiveCues(const SubtitleOptions& options);

  // Each gives the cues that are decided by it.
  std::vector<Cue> take(const CaptionUpdate& update);
  std::vector<Cue> heard(double heard_s);  // nothing was said until then that isn't known
  std::vector<Cue> finish();

 private:
  size_t words_to_lay_out(bool paused) const;
  bool has_first_cues() const;
  void lay_out_first(size_t n_words);
  void lay_out_first_cues();
  std::vector<Cue> cues_of(size_t n_words) const;
  void place(std::vector<Cue> cues);
  void release(std::optional<int64_t> next_start_ms);

  const SubtitleOptions options_;
  SubtitleStyle style_;        // for language_
  std::string language_;
  std::vector<Word> open_;     // committed, not yet in a cue
  std::optional<Cue> last_;    // its end isn't decided
  int64_t free_ms_ = 0;        // no cue may begin before
  int64_t heard_ms_ = 0;
  bool tail_ = false;          // something is being said
  std::vector<Cue> ready_;
};

}  // namespace sotto
