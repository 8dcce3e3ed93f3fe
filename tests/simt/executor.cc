#include "simt/executor.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "simt/block.h"

namespace sotto::simt {
namespace {

std::map<std::string, Kernel>& registry() {
  static std::map<std::string, Kernel> kernels;
  return kernels;
}

Schedule current_schedule;
bool counting_now = false;
std::map<std::string, Counters> totals;

// The OS threads that help the caller of run(): each has its own fibers, which stay from launch to launch.
class Pool {
 public:
  Pool() {
    int n = static_cast<int>(std::thread::hardware_concurrency());
    if (const char* wanted = std::getenv("SIMT_THREADS")) n = std::atoi(wanted);
    if (kTsan) n = 1;
    for (int i = 1; i < n; i++) threads_.emplace_back([this] { help(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(Launch& launch) {
    const bool alone = launch.blocks() <= launch.resident_blocks || threads_.empty();
    if (!alone) {
      std::lock_guard lock(mutex_);
      launch_ = &launch;
      number_++;
      busy_ = static_cast<int>(threads_.size());
    }
    if (!alone) wake_.notify_all();
    worker().work(launch);
    if (alone) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void help() {
    uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || number_ != seen; });
      if (ending_) return;
      seen = number_;
      Launch& launch = *launch_;
      lock.unlock();
      worker().work(launch);
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Launch* launch_ = nullptr;
  uint64_t number_ = 0;
  int busy_ = 0;
  bool ending_ = false;
};

// With SIMT_STARTED=FILE: each kernel of the program and how often it was started, written at the end.
class StartList {
 public:
  ~StartList() {
    const char* path = std::getenv("SIMT_STARTED");
    if (!path) return;
    std::ofstream out(path);
    for (const auto& [name, kernel] : registry()) out << name << ' ' << times_[name] << '\n';
  }
  void add(const Kernel& kernel) { times_[kernel.name]++; }

 private:
  std::map<std::string, int64_t> times_;
};

}  // namespace

Registration::Registration(const Kernel& kernel) { registry()[kernel.name] = kernel; }

const Kernel* find_kernel(const std::string& name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : &found->second;
}

std::vector<const Kernel*> all_kernels() {
  std::vector<const Kernel*> result;
  for (const auto& [name, kernel] : registry()) result.push_back(&kernel);
  return result;
}

std::string name_of(const Schedule& schedule) {
  const char* order = schedule.order == Order::round_robin ? "round robin"
                      : schedule.order == Order::run_ahead ? "one warp runs ahead"
                                                           : "shuffled";
  return std::string(schedule.copies_land_early ? "copies land early, " : "copies land late, ") + order;
}

const std::vector<Schedule>& all_schedules() {
  static const std::vector<Schedule> schedules = {
      {false, Order::round_robin}, {true, Order::run_ahead}, {false, Order::run_ahead},
      {true, Order::round_robin},  {false, Order::shuffled}, {true, Order::shuffled, 2},
  };
  return schedules;
}

void set_schedule(const Schedule& schedule) { current_schedule = schedule; }

void set_counting(bool counting) {
  if (counting) totals.clear();
  counting_now = counting;
}

std::map<std::string, Counters> counted() { return totals; }

Counters& Counters::operator+=(const Counters& other) {
  launches += other.launches;
  global_read += other.global_read;
  global_written += other.global_written;
  sectors_read += other.sectors_read;
  sectors_read_ideal += other.sectors_read_ideal;
  sectors_written += other.sectors_written;
  sectors_written_ideal += other.sectors_written_ideal;
  shared_wavefronts += other.shared_wavefronts;
  shared_wavefronts_ideal += other.shared_wavefronts_ideal;
  mma_operations += other.mma_operations;
  return *this;
}

std::string run(const Kernel& kernel, Index grid, uint32_t threads, uint32_t shared_bytes, uint32_t resident_blocks,
                const void* arguments) {
  const std::string name = std::string("kernel ") + kernel.name;
  if (threads == 0 || threads % 32 != 0 || threads > kernel.max_threads) {
    return name + " was started with " + std::to_string(threads) + " threads a block, but its launch bounds are " +
           std::to_string(kernel.max_threads) + " (and a multiple of 32 is needed)";
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535) {
    return name + " was started with a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
           std::to_string(grid.z) + " blocks";
  }
  static StartList started;
  started.add(kernel);
  static Pool pool;
  Launch launch = {&kernel, grid, threads, shared_bytes, std::max(resident_blocks, 1u), arguments, current_schedule,
                   counting_now};
  if (kTsan) launch.resident_blocks = std::max(launch.resident_blocks, 2u);  // so that neighbours have own stacks
  pool.run(launch);
  launch.counters.launches = 1;
  if (counting_now) totals[kernel.name] += launch.counters;
  return launch.failed ? name + ": " + launch.failure : "";
}

// ---- Places --------------------------------------------------------------------------------------------------------

namespace {

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// With SIMT_SITES=FILE: the places of all barriers and waits that were come to, and by which kernel, written at the end.
class SiteList {
 public:
  SiteList() {
    if (const char* path = std::getenv("SIMT_SITES")) path_ = path;
    if (const char* skip = std::getenv("SIMT_SKIP")) {
      std::istringstream in(skip);
      std::getline(in, skip_file_, ':');
      std::string line;
      std::getline(in, line, '@');
      skip_line_ = static_cast<uint32_t>(std::atoi(line.c_str()));
      for (std::string kernel; std::getline(in, kernel, ',');) skip_kernels_.insert(kernel);
    }
  }
  ~SiteList() {
    if (path_.empty()) return;
    std::ofstream out(path_);
    for (const std::string& site : sites_) out << site << '\n';
  }
  bool skipped(const Place& place) {
    if (!path_.empty()) {
      std::lock_guard lock(mutex_);
      sites_.insert(text_of(place) + " " + worker().launch->kernel->name);
    }
    return skip_line_ == place.line() && skip_line_ != 0 && skip_file_ == base_name(place.file_name()) &&
           (skip_kernels_.empty() || skip_kernels_.contains(worker().launch->kernel->name));
  }

 private:
  std::string path_, skip_file_;
  uint32_t skip_line_ = 0;
  std::mutex mutex_;
  std::set<std::string> sites_, skip_kernels_;
};

}  // namespace

std::string text_of(const Place& place) {
  return std::string(base_name(place.file_name())) + ":" + std::to_string(place.line());
}

bool skipped(const Place& place) {
  static SiteList sites;
  return sites.skipped(place);
}

}  // namespace sotto::simt
