#include "audio/clock.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace sotto {
namespace {

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double processor_time_s() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

WallClock::WallClock(double speed) : speed_(speed), start_s_(wall_s()) {}

double WallClock::now_s() const { return (wall_s() - start_s_) * speed_; }

void WallClock::wait_until(double time_s) {
  const double before_s = now_s();
  if (time_s <= before_s) return;
  std::this_thread::sleep_for(std::chrono::duration<double>((time_s - before_s) / speed_));
  waited_s_ += now_s() - before_s;
}

ComputingClock::ComputingClock(int threads, double speed) : per_s_(speed / threads), start_s_(processor_time_s()) {}

double ComputingClock::now_s() const { return waited_s_ + (processor_time_s() - start_s_) * per_s_; }

void ComputingClock::wait_until(double time_s) {
  const double left_s = time_s - now_s();
  if (left_s > 0) waited_s_ += left_s;
}

}  // namespace sotto
