#include "kernels/team.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <system_error>

namespace sotto {
namespace {

constexpr uint32_t kOpen = 1, kEnd = 2, kOne = 4, kJob = 1u << 16;
constexpr uint32_t kAtWork = kJob - kOne;
constexpr int kSpins = 300;  // of about 50 ns: longer than the gap between two loops of a step, short beside a window

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Waits for the state to become another; spins first, since most waits are short.
void wait_for_change(std::atomic<uint32_t>& state, uint32_t seen) {
  for (int i = 0; i < kSpins; i++) {
    if (state.load(std::memory_order_relaxed) != seen) return;
    pause_briefly();
  }
  state.wait(seen, std::memory_order_relaxed);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// CPUs out of a quota and a period in microseconds; 0: no limit.
double cpus(const std::string& quota, const std::string& period) {
  try {
    const double q = std::stod(quota), p = std::stod(period);
    return q > 0 && p > 0 ? q / p : 0;
  } catch (const std::exception&) {  // "max", or no such file
    return 0;
  }
}

double group_limit(const std::string& folder, bool v2) {
  if (!v2) return cpus(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
  std::istringstream words(first_line(folder + "/cpu.max"));
  std::string quota, period;
  words >> quota >> period;
  return cpus(quota, period);
}

}  // namespace

int cgroup_cpu_limit(const std::string& root, const std::string& groups) {
  double least = 0;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string mount = v2 ? root : root + "/" + controllers;
    for (std::string path = line.substr(second + 1);; path = path.substr(0, path.rfind('/'))) {
      if (path == "/") path.clear();
      const double limit = group_limit(mount + path, v2);
      if (limit > 0) least = least > 0 ? std::min(least, limit) : limit;
      if (path.find('/') == std::string::npos) break;
    }
  }
  return static_cast<int>(std::ceil(least - 1e-9));
}

int default_threads() {
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) threads = std::max(1, CPU_COUNT(&set));
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  const int limit = cgroup_cpu_limit("/sys/fs/cgroup", groups);
  return limit > 0 ? std::min(threads, limit) : threads;
}

Team::Team(int threads) {
  threads = std::min(threads > 0 ? threads : default_threads(), 1024);
  workers_.reserve(threads - 1);
  try {
    for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work_loop(i); });
  } catch (const std::system_error&) {  // no memory for one more, or no more allowed: those that are there do it
  }
}

Team::~Team() {
  state_.fetch_or(kEnd, std::memory_order_release);
  state_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::take_pieces(int thread) {
  for (;;) {
    const int64_t first = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (first >= count_) return;
    call_(job_, first, std::min(first + grain_, count_), thread);
  }
}

void Team::run(int64_t count, int64_t grain, Call call, const void* job) {
  count_ = count;
  grain_ = std::max<int64_t>(grain, 1);
  call_ = call;
  job_ = job;
  next_.store(0, std::memory_order_relaxed);
  const uint32_t before = state_.load(std::memory_order_relaxed);
  state_.store(((before & ~(kAtWork | kOpen)) + kJob) | kOpen, std::memory_order_release);
  state_.notify_all();
  take_pieces(0);
  uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
  while (state & kAtWork) {
    wait_for_change(state_, state);
    state = state_.load(std::memory_order_acquire);
  }
}

void Team::work_loop(int thread) {
  uint32_t done = 0;  // number of the last job this thread was in
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    if (state & kEnd) return;
    if (!(state & kOpen) || state / kJob == done) {
      wait_for_change(state_, state);
      continue;
    }
    if (!state_.compare_exchange_weak(state, state + kOne, std::memory_order_acquire)) continue;
    done = state / kJob;
    take_pieces(thread);
    const uint32_t left = state_.fetch_sub(kOne, std::memory_order_release) - kOne;
    if (!(left & (kAtWork | kOpen))) state_.notify_all();
  }
}

}  // namespace sotto
