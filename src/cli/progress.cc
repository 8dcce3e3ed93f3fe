#include "src/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "src/writers.h"

namespace sotto {
namespace {

// A line as long as the terminal is wide would wrap on some, and one that has wrapped can't be taken away.
size_t free_columns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 79;
  return size.ws_col - 1;
}

}  // namespace

std::string ProgressLine::text(double at_s, std::optional<double> total_s, double elapsed_s, size_t columns) {
  const double speed = elapsed_s > 0 ? at_s / elapsed_s : 0;  // x real time
  std::vector<std::string> parts;
  char part[40];
  if (total_s && *total_s > 0) {
    std::snprintf(part, sizeof part, "%3.0f %%", 100 * std::clamp(at_s / *total_s, 0.0, 1.0));
    parts.push_back(part);
  } else {
    parts.push_back(rough_time(at_s));
  }
  if (speed > 0) {
    std::snprintf(part, sizeof part, "  %.1f x real time", speed);
    parts.push_back(part);
    if (total_s) parts.push_back("  " + rough_time((*total_s - at_s) / speed) + " left");
  }
  std::string line;
  for (const std::string& each : parts)
    if (line.size() + each.size() <= columns) line += each;
  return line;
}

void ProgressLine::show(double at_s, std::optional<double> total_s) {
  if (!shown_) return;
  clear();
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  std::fputs(text(at_s, total_s, elapsed_s, free_columns()).c_str(), stderr);
  std::fflush(stderr);
  on_screen_ = true;
}

void ProgressLine::clear() {
  if (!on_screen_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  on_screen_ = false;
}

}  // namespace sotto
