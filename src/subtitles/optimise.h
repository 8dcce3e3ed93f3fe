// The best cues and lines of a whole transcript, by dynamic programming on a cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/subtitles/cue_times.h"
#include "src/subtitles/style.h"
#include "src/subtitles/units.h"

namespace sotto {

// What cues cost that begin at one unit. A cue that no style's lines could hold costs kImpossible.
class CueCosts {
 public:
  static constexpr double kImpossible = 1e12;

  // Where what can't be parted is wider than a line, it may be parted after all: break costs change.
  CueCosts(std::span<Unit> units, const SubtitleStyle& style, std::span<const int64_t> cuts_ms, int64_t end_ms);

  void begin_at(int begin);  // of the next costs
  int last_end() const { return last_end_; }  // no cue that begins there can go farther
  double operator()(int end) const;           // of units [begin, end), end up to last_end()

  std::vector<int> line_ends(int end) const;  // of the cue's lines at this cost
  const CueTimes& times() const { return times_; }

 private:
  struct Line {  // the best lines from the first unit up to one, so many of them
    double cost = kImpossible;
    int before = 0;  // unit at which the last of them begins
  };
  void allow_needed_breaks(std::span<Unit> units) const;
  bool fits(int begin, int end) const;
  double width(int begin, int end) const;
  int words(int begin, int end) const;
  void find_lines();
  int lines_needed(int end) const;
  double cost_of_lines(int end) const;
  double cost_of_break(int end) const;
  double cost_of_times(int end) const;

  std::span<const Unit> units_;
  const SubtitleStyle& style_;
  CueTimes times_;
  std::vector<int> columns_, words_, sentences_;  // before a unit; sentences that have begun, the unit's among them
  std::vector<double> pauses_;                    // cost of those before a unit, within a cue
  int begin_ = 0, last_end_ = 0;
  int n_layers_ = 0;
  std::vector<std::vector<Line>> lines_;  // [lines - 1][end - begin], for up to n_layers_ lines
};

// The ends of the cheapest cues, in order; the last is the number of units.
std::vector<int> best_cue_ends(CueCosts& costs, int n_units);

// What cues with these ends cost together.
double cost_of(CueCosts& costs, std::span<const int> cue_ends);

}  // namespace sotto
