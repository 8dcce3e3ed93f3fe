#include "models/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "models/error.h"

namespace sotto {
namespace {

struct FileDescriptor {
  int number;
  ~FileDescriptor() {
    if (number >= 0) close(number);
  }
};

std::string why_not_opened(const std::string& path, int error) {
  if (error == ENOENT) return "there is no file " + path + "; check the path, or give the name of a model";
  if (error == EACCES) return "the file " + path + " may not be read; change its permissions or use another one";
  return "the file " + path + " can't be opened: " + std::strerror(error);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK a named pipe would wait here for a writer.
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) throw Error(why_not_opened(path, errno));
  struct stat status;
  if (fstat(file.number, &status) != 0) throw Error(why_not_opened(path, errno));
  if (!S_ISREG(status.st_mode)) throw Error(path + " is not a file; give the path of a model's file or folder");
  if (status.st_size == 0) throw Error("the file " + path + " is empty; fetch or copy it again");

  const size_t size = static_cast<size_t>(status.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (start == MAP_FAILED) throw Error(why_not_opened(path, errno));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->bytes_ = {static_cast<const std::byte*>(start), size};
  return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::of_bytes(std::vector<std::byte> bytes) {
  std::shared_ptr<MappedFile> made(new MappedFile);
  made->owned_ = std::move(bytes);
  made->bytes_ = made->owned_;
  return made;
}

MappedFile::~MappedFile() {
  if (owned_.empty() && !bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace sotto
