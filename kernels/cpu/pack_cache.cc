#include "kernels/cpu/pack_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "models/catalog.h"

namespace sotto::cpu {
namespace {

constexpr int64_t kHeaderBytes = 4096;  // a page, so that what follows is aligned
constexpr const char* kDraft = ".draft";

// The first and the last page say the same. The sum tells a file whose every page has come to the disk from one that was
// still being written when power went.
struct Header {
  char magic[8] = {'s', 'o', 't', 't', 'o', 'p', 'k', '\n'};
  int64_t version = kPackVersion;
  int64_t bytes = 0;
  char key[256] = {};
  uint64_t sum = 0;  // page_sum() of what lies between
};

Header header_for(const std::string& key, int64_t bytes) {
  Header header;
  header.bytes = bytes;
  std::strncpy(header.key, key.c_str(), sizeof(header.key) - 1);
  return header;
}

struct Mapping {
  char* base = nullptr;
  size_t bytes = 0;
  ~Mapping() {
    if (base) munmap(base, bytes);
  }
};

struct File {
  int descriptor;
  explicit File(int fd) : descriptor(fd) {}
  File& operator=(File&& other) {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

int64_t file_bytes(int64_t bytes) {
  return kHeaderBytes + (bytes + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes + kHeaderBytes;
}

// Of one cache line of each page, in turns: all of it would take as long as a second of work, and what is lost is lost by
// pages.
uint64_t page_sum(const char* base, int64_t bytes) {
  constexpr int64_t kPage = 4096, kLine = 64;
  uint64_t sum = 0x9e3779b97f4a7c15;
  for (int64_t page = 0; page * kPage < bytes; page++) {
    const int64_t at = page * kPage + page * 7 * kLine % kPage;
    uint64_t words[kLine / 8] = {};
    if (at < bytes) std::memcpy(words, base + at, std::min(kLine, bytes - at));
    for (const uint64_t word : words) sum = (std::rotl(sum, 23) ^ word) * 0xff51afd7ed558ccd;
  }
  return sum;
}

PackBuffer map_file(const std::string& path, Header expected) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  const int64_t size = file_bytes(expected.bytes);
  if (file.descriptor < 0 || fstat(file.descriptor, &info) != 0 || info.st_size != size) return {};
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file.descriptor, 0);
  if (base == MAP_FAILED) return {};
  auto mapping = std::make_shared<Mapping>();
  mapping->base = static_cast<char*>(base);
  mapping->bytes = size;
  expected.sum = page_sum(mapping->base + kHeaderBytes, expected.bytes);
  if (std::memcmp(mapping->base, &expected, sizeof(Header)) != 0) return {};
  if (std::memcmp(mapping->base + size - kHeaderBytes, &expected, sizeof(Header)) != 0) return {};
  return {mapping->base + kHeaderBytes, mapping};
}

// Drafts that were left behind: whoever writes one holds its lock for as long as he lives.
void remove_stale_drafts(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != kDraft) continue;
    const File file(open(at->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file.descriptor >= 0 && flock(file.descriptor, LOCK_EX | LOCK_NB) == 0) unlink(at->path().c_str());
  }
}

// A new file beside `path`, locked; "" where there can be none.
std::string open_draft(const std::string& path, File& file) {
  static std::atomic<int> number = 0;
  for (int tries = 0; tries < 10; tries++) {
    const std::string draft = path + "." + std::to_string(getpid()) + "-" + std::to_string(number++) + kDraft;
    file = File(open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    struct stat info;  // it may have been taken for a stale one before it was locked
    if (file.descriptor >= 0 && flock(file.descriptor, LOCK_EX) == 0 && fstat(file.descriptor, &info) == 0 &&
        info.st_nlink > 0) {
      return draft;
    }
    if (file.descriptor < 0 && errno != EEXIST) break;
  }
  return {};
}

// Fills a new file, mapped for writing, and puts it at `path`. False where that can't be done.
bool write_file(const std::string& path, Header header, const std::function<void(char*)>& fill) {
  File file(-1);
  const std::string draft = open_draft(path, file);
  if (draft.empty()) return false;
  const int64_t size = file_bytes(header.bytes);
  bool whole = posix_fallocate(file.descriptor, 0, size) == 0;  // a full disk shows here, not as a fault later
  if (whole) {
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    whole = base != MAP_FAILED;
    if (whole) {
      Mapping mapping;
      mapping.base = static_cast<char*>(base);
      mapping.bytes = size;
      fill(mapping.base + kHeaderBytes);
      header.sum = page_sum(mapping.base + kHeaderBytes, header.bytes);
      std::memcpy(mapping.base, &header, sizeof(header));
      std::memcpy(mapping.base + size - kHeaderBytes, &header, sizeof(header));
      whole = msync(base, size, MS_SYNC) == 0;
    }
  }
  whole = whole && std::rename(draft.c_str(), path.c_str()) == 0;
  if (!whole) unlink(draft.c_str());
  return whole;
}

PackBuffer fill_memory(int64_t bytes, const std::function<void(char*)>& fill) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  auto* base = static_cast<char*>(std::aligned_alloc(kHugePage, size));
  if (!base) throw std::bad_alloc();
  madvise(base, size, MADV_HUGEPAGE);
  std::memset(base, 0, size);
  fill(base);
  return {base, std::shared_ptr<void>(base, std::free)};
}

}  // namespace

PackBuffer open_pack(const std::string& key, int64_t bytes, const std::function<void(char*)>& fill) {
  if (key.empty()) return fill_memory(bytes, fill);
  const Header header = header_for(key, bytes);
  const std::string folder = sotto_home() + "/packed";
  const std::string path = folder + "/" + key;
  if (PackBuffer buffer = map_file(path, header); buffer.base) return buffer;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  remove_stale_drafts(folder);
  if (write_file(path, header, fill)) {
    if (PackBuffer buffer = map_file(path, header); buffer.base) return buffer;
  }
  return fill_memory(bytes, fill);
}

}  // namespace sotto::cpu
