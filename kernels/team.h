// A fixed team of threads that share loops. What a loop computes never depends on how many threads it has: pieces are
// handed out as threads come for them, and each piece writes results of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace sotto {

// Threads a process may use: what its CPU affinity allows, or less where a control group limits CPU time.
int default_threads();

// CPUs that control groups allow, rounded up; 0: no limit. `groups` is the text of /proc/self/cgroup, `root` is where
// the control groups are mounted (/sys/fs/cgroup). Reads versions 1 and 2; a limit of a parent group counts too.
int cgroup_cpu_limit(const std::string& root, const std::string& groups);

class Team {
 public:
  explicit Team(int threads);  // 0: default_threads(); has less than asked for where the machine gives no more
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(first, last, thread) for pieces of [0, count) of at most `grain`, on all threads, and returns when all
  // are done. thread: [0, threads()), for scratch memory. Not to be called from two threads at once, nor from inside.
  template <class Work>
  void parallel_for(int64_t count, int64_t grain, const Work& work) {
    if (workers_.empty() || count <= grain) {
      if (count > 0) work(int64_t{0}, count, 0);
      return;
    }
    run(count, grain, [](const void* job, int64_t first, int64_t last, int thread) {
      (*static_cast<const Work*>(job))(first, last, thread);
    }, &work);
  }

 private:
  using Call = void (*)(const void* job, int64_t first, int64_t last, int thread);

  void run(int64_t count, int64_t grain, Call call, const void* job);
  void take_pieces(int thread);
  void work_loop(int thread);

  // One number says all: bit 0: there is a job to join; bit 1: the team ends; then the threads at work (14 bits); then
  // the number of the job (16 bits), so that no one joins twice. Threads that come late are not waited for.
  std::atomic<uint32_t> state_{0};
  std::atomic<int64_t> next_{0};  // first index not handed out
  int64_t count_ = 0, grain_ = 1;
  Call call_ = nullptr;
  const void* job_ = nullptr;
  std::vector<std::thread> workers_;
};

}  // namespace sotto
