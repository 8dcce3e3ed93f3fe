#include "src/cli/progress.h"

#include <algorithm>
#include <cstdio>

#include "src/writers.h"

namespace sotto {
void ProgressLine::show(double at_s, std::optional<double> total_s) {
  if (!shown_) return;
  clear();
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  const double speed = elapsed_s > 0 ? at_s / elapsed_s : 0;  // x real time
  if (total_s && *total_s > 0)
    std::fprintf(stderr, "%3.0f %%", 100 * std::clamp(at_s / *total_s, 0.0, 1.0));
  else
    std::fputs(rough_time(at_s).c_str(), stderr);
  if (speed > 0) {
    std::fprintf(stderr, "  %.1f x real time", speed);
    if (total_s) std::fprintf(stderr, "  %s left", rough_time((*total_s - at_s) / speed).c_str());
  }
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
