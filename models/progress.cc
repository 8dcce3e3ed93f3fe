#include "models/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sotto {
namespace {

constexpr int64_t kWorthALine = 4'000'000;  // smaller files come and go without a word
constexpr std::chrono::milliseconds kRedraw(100);

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (b < 1e6) return formatted("%.0f kB", b / 1e3);
  if (b < 1e9) return formatted("%.1f MB", b / 1e6);
  return formatted("%.2f GB", b / 1e9);
}

std::string human_duration(double seconds) {
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, 359999.0) + 0.5);
  char text[32];
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
  }
  return text;
}

std::string progress_line(std::string_view label, int64_t done, int64_t total, double bytes_per_s) {
  std::string line(label);
  const std::string speed = "  " + human_bytes(static_cast<int64_t>(bytes_per_s)) + "/s";
  if (total <= 0) return line + "  " + human_bytes(done) + speed;
  constexpr int kBar = 20;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const int filled = static_cast<int>(share * kBar);
  line += formatted("  %3.0f%%", std::min(share * 100, done < total ? 99.0 : 100.0)) + " [" +
          std::string(static_cast<size_t>(filled), '=') + std::string(static_cast<size_t>(kBar - filled), ' ') + "] ";
  line += human_bytes(done) + " of " + human_bytes(total) + speed;
  if (bytes_per_s > 0) line += "  " + human_duration(static_cast<double>(total - done) / bytes_per_s) + " left";
  return line;
}

Progress::Progress(std::string label, int64_t done, bool quiet, std::string origin)
    : label_(std::move(label)), origin_(std::move(origin)), start_(done), done_(done), quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      began_(Clock::now()), last_drawn_(began_ - kRedraw) {}

Progress::~Progress() {
  if (drawn_) say("\n");
}

double Progress::bytes_per_s() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return seconds > 0 ? static_cast<double>(done_ - start_) / seconds : 0;
}

void Progress::draw(const std::string& line) {
  winsize size{};
  const size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
  std::fprintf(stderr, "\r%.*s\033[K", static_cast<int>(std::min(columns, line.size())), line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::update(int64_t done, int64_t total) {
  done_ = std::max(done_, done);
  total_ = total;
  if (quiet_ || (total > 0 && total < kWorthALine) || (total <= 0 && done < kWorthALine)) return;
  if (!started_ && (!terminal_ || !origin_.empty())) {
    say("fetching " + label_ + (origin_.empty() ? "" : " from " + origin_) +
        (total > 0 ? " (" + human_bytes(total) + ")" : "") +
        (start_ > 0 ? ", going on at " + human_bytes(start_) : "") + "\n");
  }
  started_ = true;
  if (!terminal_ || Clock::now() - last_drawn_ < kRedraw) return;
  last_drawn_ = Clock::now();
  draw(progress_line(label_, done_, total_, bytes_per_s()));
}

void Progress::finish(int64_t bytes, bool is_checked) {
  if (!started_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  const std::string line = "fetched " + label_ + ": " + human_bytes(bytes) + " in " + human_duration(seconds) +
                           (is_checked ? ", SHA-256 checked" : "");
  if (terminal_) draw(line);
  say(terminal_ ? "" : line);
  say("\n");
  drawn_ = false;
}

}  // namespace sotto
