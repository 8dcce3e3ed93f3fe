#include "src/cli/progress.h"

#include <algorithm>
#include <cstdio>

namespace sotto {
namespace {

void print_minutes(double seconds) {
  const long whole = static_cast<long>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  if (whole >= 3600) std::fprintf(stderr, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else std::fprintf(stderr, "%ld:%02ld", whole / 60, whole % 60);
}

}  // namespace

void ProgressLine::show(double at_s, std::optional<double> total_s) {
  if (!shown_) return;
  clear();
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  const double speed = elapsed_s > 0 ? at_s / elapsed_s : 0;  // x real time
  if (total_s && *total_s > 0)
    std::fprintf(stderr, "%3.0f %%", 100 * std::clamp(at_s / *total_s, 0.0, 1.0));
  else
    print_minutes(at_s);
  if (speed > 0) {
    std::fprintf(stderr, "  %.1f x real time", speed);
    if (total_s) {
      std::fputs("  ", stderr);
      print_minutes((*total_s - at_s) / speed);
      std::fputs(" left", stderr);
    }
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
