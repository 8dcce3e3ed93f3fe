// How far a transfer is, on stderr: a bar on a terminal, a line at the start and one at the end elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sotto {

std::string human_bytes(int64_t bytes);         // "145.3 MB"
std::string human_duration(double seconds);     // "0:07", "1:02:03"

// One line of a progress bar. total 0: not known, so without percent, bar and time left.
std::string progress_line(std::string_view label, int64_t done, int64_t total, double bytes_per_s);

class Progress {
 public:
  // done: bytes that were there before this transfer started. origin: where they come from, told once at the start.
  Progress(std::string label, int64_t done, bool quiet, std::string origin = "");
  ~Progress();  // leaves an interrupted bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(int64_t done, int64_t total);     // never runs backwards; total 0: not known
  void finish(int64_t bytes, bool is_checked);  // of what is there now; checked against a hash

 private:
  using Clock = std::chrono::steady_clock;
  double bytes_per_s() const;
  void draw(const std::string& line);

  std::string label_, origin_;
  int64_t start_, done_, total_ = 0;
  bool quiet_, terminal_;
  bool started_ = false, drawn_ = false;
  Clock::time_point began_, last_drawn_;
};

}  // namespace sotto
