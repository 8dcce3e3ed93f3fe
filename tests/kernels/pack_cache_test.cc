// Packed weights on disk: used when whole, made anew when not, done without where nothing can be written.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "kernels/cpu/pack_cache.h"
#include "temporary.h"

namespace sotto::cpu {
namespace {

constexpr int64_t kBytes = 10'000;

// sotto_home() for as long as it lives.
struct Home {
  TemporaryFolder folder;
  ScopedVariable variable{"SOTTO_HOME", folder.path().c_str()};
  std::string file(const std::string& key) const { return folder.path() + "/packed/" + key; }
};

// How often open_pack() asked to fill, with bytes that all are `value`.
struct Filled {
  int times = 0;
  PackBuffer open(const std::string& key, char value) {
    return open_pack(key, kBytes, [&](char* base) {
      times++;
      std::memset(base, value, kBytes);
    });
  }
};

TEST_CASE("packed weights are made once and mapped from then on") {
  const Home home;
  Filled filled;
  for (int i = 0; i < 3; i++) {
    const PackBuffer buffer = filled.open("key", 'a');
    CHECK(buffer.base[0] == 'a');
    CHECK(buffer.base[kBytes - 1] == 'a');
    CHECK(reinterpret_cast<uintptr_t>(buffer.base) % 64 == 0);
  }
  CHECK(filled.times == 1);
  CHECK(std::filesystem::exists(home.file("key")));
  filled.open("another key", 'b');
  CHECK(filled.times == 2);
}

TEST_CASE("packed weights that are damaged are made anew") {
  const Home home;
  for (const int64_t cut : {int64_t{0}, int64_t{100}, int64_t{5000}, kBytes}) {
    Filled filled;
    filled.open("key", 'a');
    std::filesystem::resize_file(home.file("key"), cut);
    CHECK(filled.open("key", 'b').base[0] == 'b');
    CHECK(filled.open("key", 'c').base[0] == 'b');
    std::filesystem::remove(home.file("key"));
  }
  for (const bool first_page : {true, false}) {  // the pages that say what it is
    Filled filled;
    filled.open("key", 'a');
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(home.file("key")));
    std::fstream file(home.file("key"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(first_page ? 3 : size - 4096);
    file.put('?').flush();
    CHECK(filled.open("key", 'b').base[0] == 'b');
    CHECK(filled.times == 2);
    std::filesystem::remove(home.file("key"));
  }
}

TEST_CASE("a page of packed weights that never came to the disk is noticed") {
  const Home home;
  Filled filled;
  filled.open("key", 'a');
  std::fstream file(home.file("key"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 4096);  // the second page of the weights
  file << std::string(4096, '\0') << std::flush;
  CHECK(filled.open("key", 'b').base[5000] == 'b');
  CHECK(filled.times == 2);
}

TEST_CASE("packed weights can be read by whom the umask allows, and drafts of killed programs are removed") {
  const Home home;
  Filled filled;
  const mode_t before = umask(022);
  filled.open("key", 'a');
  umask(before);
  struct stat info;
  REQUIRE(stat(home.file("key").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0644);

  const pid_t child = fork();
  if (child == 0) {
    open_pack("other", kBytes, [](char*) { raise(SIGKILL); });
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(home.folder.path() + "/packed"), {});
  };
  CHECK(files() == 2);
  int seen = 0;
  open_pack("third", kBytes, [&](char*) {  // another's draft goes, one at work stays
    seen = static_cast<int>(files());
    filled.open("fourth", 'b');
  });
  CHECK(seen == 2);
  CHECK(files() == 3);
}

TEST_CASE("where nothing can be kept, weights are packed into memory") {
  const Home home;
  std::ofstream(home.folder.path() + "/packed") << "a file where the folder should be";
  Filled filled;
  CHECK(filled.open("key", 'a').base[kBytes - 1] == 'a');
  CHECK(filled.open("key", 'b').base[0] == 'b');
  CHECK(filled.open("", 'c').base[0] == 'c');
  CHECK(filled.times == 3);
}

}  // namespace
}  // namespace sotto::cpu
