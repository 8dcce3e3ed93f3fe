#include "models/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sotto {
namespace {

namespace fs = std::filesystem;

// Makes the names in a folder durable. Some file systems can't; a crash there may cost a download, never mix one up.
void sync_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace

Error disk_error(const std::string& path, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Error(path + " can't be written because the disk is full (" + std::strerror(error) +
                   "); free some space, or name a folder on another disk with SOTTO_HOME or --model-dir");
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case EEXIST:
      return Error(path + " can't be written (" + std::strerror(error) +
                   "); name a folder that can with SOTTO_HOME or --model-dir");
    default:
      return Error(path + " can't be written (" + std::strerror(error) + "); check the disk it is on");
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw disk_error(path, error.value());
}

void rename_durably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) throw disk_error(to, errno);
  sync_folder(fs::path(to).parent_path());
}

void remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw Error(path + " can't be removed (" + error.message() + "); check who may write to its folder");
}

int64_t size_on_disk(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return static_cast<int64_t>(fs::file_size(path, error));
  int64_t total = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // files come and go while a fetch is watched
    const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) total += static_cast<int64_t>(size);
  }
  return total;
}

OutFile::OutFile(const std::string& path, bool append) : path_(path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
  if (file_ < 0) throw disk_error(path, errno);
}

OutFile::~OutFile() {
  if (file_ >= 0) close(file_);
}

void OutFile::write(const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file_, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw disk_error(path_, errno);
    at += written;
    size -= static_cast<size_t>(written);
  }
}

void OutFile::restart() {
  if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) < 0) throw disk_error(path_, errno);
}

void OutFile::finish() {
  const bool synced = fsync(file_) == 0 || errno == EINVAL;  // EINVAL: not a thing that can be synced
  const int error = errno;
  const bool closed = close(file_) == 0;
  file_ = -1;
  if (!synced || !closed) throw disk_error(path_, synced ? errno : error);
}

FileLock::FileLock(const std::string& path) : path_(path) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw disk_error(path, errno);
}

FileLock::~FileLock() { close(file_); }

bool FileLock::try_lock() { return flock(file_, LOCK_EX | LOCK_NB) == 0; }

void FileLock::lock() {
  while (flock(file_, LOCK_EX) != 0) {
    if (errno != EINTR) throw disk_error(path_, errno);
  }
}

}  // namespace sotto
