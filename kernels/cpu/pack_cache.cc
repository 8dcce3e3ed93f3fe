#include "kernels/cpu/pack_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "models/catalog.h"

namespace sotto::cpu {
namespace {

constexpr int64_t kHeaderBytes = 4096;  // a page, so that what follows is aligned

// The first and the last page say the same; the last is written after all others, so a file cut short or still being
// written when power went is told from a whole one.
struct Header {
  char magic[8] = {'s', 'o', 't', 't', 'o', 'p', 'k', '\n'};
  int64_t version = kPackVersion;
  int64_t bytes = 0;
  char key[256] = {};
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
  File(const File&) = delete;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

int64_t file_bytes(int64_t bytes) {
  return kHeaderBytes + (bytes + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes + kHeaderBytes;
}

PackBuffer map_file(const std::string& path, const Header& expected) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  const int64_t size = file_bytes(expected.bytes);
  if (file.descriptor < 0 || fstat(file.descriptor, &info) != 0 || info.st_size != size) return {};
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file.descriptor, 0);
  if (base == MAP_FAILED) return {};
  auto mapping = std::make_shared<Mapping>();
  mapping->base = static_cast<char*>(base);
  mapping->bytes = size;
  if (std::memcmp(mapping->base, &expected, sizeof(Header)) != 0) return {};
  if (std::memcmp(mapping->base + size - kHeaderBytes, &expected, sizeof(Header)) != 0) return {};
  return {mapping->base + kHeaderBytes, mapping};
}

// Fills a new file, mapped for writing, and puts it at `path`. False where that can't be done.
bool write_file(const std::string& path, const Header& header, const std::function<void(char*)>& fill) {
  std::string draft = path + ".XXXXXX";
  const File file(mkstemp(draft.data()));
  if (file.descriptor < 0) return false;
  const int64_t size = file_bytes(header.bytes);
  bool whole = posix_fallocate(file.descriptor, 0, size) == 0;  // a full disk shows here, not as a fault later
  if (whole) {
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    whole = base != MAP_FAILED;
    if (whole) {
      Mapping mapping;
      mapping.base = static_cast<char*>(base);
      mapping.bytes = size;
      std::memcpy(mapping.base, &header, sizeof(header));
      fill(mapping.base + kHeaderBytes);
      whole = msync(base, size, MS_SYNC) == 0;
      std::memcpy(mapping.base + size - kHeaderBytes, &header, sizeof(header));
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
  if (write_file(path, header, fill)) {
    if (PackBuffer buffer = map_file(path, header); buffer.base) return buffer;
  }
  return fill_memory(bytes, fill);
}

}  // namespace sotto::cpu
