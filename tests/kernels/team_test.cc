#include "kernels/team.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace sotto;

TEST_CASE("a loop covers each index once, in pieces of at most its grain, on any number of threads") {
  for (int threads : {1, 2, 3, 8}) {
    Team team(threads);
    REQUIRE(team.threads() == threads);
    for (int64_t count : {0, 1, 5, 64, 1000}) {
      for (int64_t grain : {1, 7, 2000}) {
        std::vector<int> seen(count);
        std::atomic<bool> fits{true};
        team.parallel_for(count, grain, [&](int64_t first, int64_t last, int thread) {
          if (thread < 0 || thread >= threads || first >= last) fits = false;
          for (int64_t i = first; i < last; i++) seen[i]++;
        });
        CHECK(fits);
        for (int64_t i = 0; i < count; i++) REQUIRE(seen[i] == 1);
      }
    }
  }
}

TEST_CASE("what one loop wrote the next one reads, over many short loops") {
  Team team(4);
  std::vector<int64_t> a(97), b(97);
  for (int round = 1; round <= 2000; round++) {
    team.parallel_for(97, 3, [&](int64_t first, int64_t last, int) {
      for (; first < last; first++) a[first] = b[96 - first] + 1;
    });
    team.parallel_for(97, 5, [&](int64_t first, int64_t last, int) {
      for (; first < last; first++) b[first] = a[first];
    });
  }
  for (int64_t value : b) REQUIRE(value == 2000);
}

TEST_CASE("control groups limit the threads") {
  const std::filesystem::path root = std::filesystem::temp_directory_path() / "sotto_cgroup_test";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  CHECK(cgroup_cpu_limit(root.string(), "0::/\n") == 0);
  write("cpu.max", "max 100000");
  write("a/cpu.max", "250000 100000");
  write("a/b/cpu.max", "max 100000");
  CHECK(cgroup_cpu_limit(root.string(), "0::/\n") == 0);
  CHECK(cgroup_cpu_limit(root.string(), "0::/a/b\n") == 3);
  write("a/b/cpu.max", "50000 100000");
  CHECK(cgroup_cpu_limit(root.string(), "0::/a/b\n") == 1);
  write("cpu,cpuacct/box/cpu.cfs_quota_us", "200000");
  write("cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  CHECK(cgroup_cpu_limit(root.string(), "5:memory:/box\n4:cpu,cpuacct:/box\n") == 2);
  write("cpu,cpuacct/box/cpu.cfs_quota_us", "-1");
  CHECK(cgroup_cpu_limit(root.string(), "4:cpu,cpuacct:/box\n") == 0);
  CHECK(default_threads() >= 1);
  std::filesystem::remove_all(root);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
TEST_CASE("a machine that gives fewer threads than asked for still does the work") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // the limit would hold for all other tests
    const rlimit limit = {1 << 30, 1 << 30};  // room for 100 stacks or so
    setrlimit(RLIMIT_AS, &limit);
    Team team(1000);
    std::atomic<int64_t> sum{0};
    team.parallel_for(10'000, 7, [&](int64_t first, int64_t last, int) { sum += last - first; });
    _exit(team.threads() < 1000 && sum == 10'000 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
