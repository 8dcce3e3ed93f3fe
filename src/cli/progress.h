// The line at the bottom of a terminal that says how far one file has come.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace sotto {

class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { clear(); }

  // at_s of total_s have been transcribed; the total isn't known for pipes.
  void show(double at_s, std::optional<double> total_s);

  // The line: as much as fits into so many columns, the most important first.
  static std::string text(double at_s, std::optional<double> total_s, double elapsed_s, size_t columns);

  // Takes the line away, so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  bool on_screen_ = false;
};

}  // namespace sotto
