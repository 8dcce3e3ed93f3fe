// The part of writers.h that deals with files: whole ones, under names of their own.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "models/error.h"
#include "src/writers.h"

namespace sotto {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  std::string what;
  if (error == ENOSPC || error == EDQUOT) {
    what = "the disk is full; free some space or choose another folder";
  } else if (error == EACCES || error == EPERM || error == EROFS) {
    what = "its folder doesn't allow it; choose another folder";
  } else {
    what = std::generic_category().message(error) + "; choose another folder";
  }
  throw Error("cannot write " + path + ": " + what);
}

void write_all(int fd, std::string_view content, const std::string& target) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(target, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A device or a pipe gets what a file would hold.
void write_through(const std::string& target, std::string_view content) {
  const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(target, errno);
  try {
    write_all(fd, content, target);
  } catch (const Error&) {
    ::close(fd);
    throw;
  }
  if (::close(fd) != 0) fail(target, errno);
}

// A new file in the folder of another one, removed unless it took the other's place, with whose permissions it comes.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& target, const struct stat* before) : target_(target) {
    const std::filesystem::path folder = std::filesystem::path(target).parent_path();
    for (int attempt = 0; fd_ < 0; ++attempt) {  // another one's leftover may have the name of ours
      path_ = folder / (".sotto-" + std::to_string(::getpid()) + '-' + std::to_string(attempt) + ".part");
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0 && errno != EEXIST) fail(target_, errno);
    }
    if (before) ::fchmod(fd_, before->st_mode & 07777);  // where it can't be, those of a new file do
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void write(std::string_view content) { write_all(fd_, content, target_); }

  void take_place() {
    if (::fsync(fd_) != 0 && errno != EINVAL) fail(target_, errno);  // EINVAL: a file system that can't
    const int closed = ::close(fd_);  // network file systems report a full disk here
    fd_ = -1;
    if (closed != 0) fail(target_, errno);
    if (std::rename(path_.c_str(), target_.c_str()) != 0) fail(target_, errno);
    path_.clear();
  }

 private:
  std::string target_;
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) fail(path, error.value());
  struct stat before = {};
  const bool there = ::stat(path.c_str(), &before) == 0;
  if (there && !S_ISREG(before.st_mode) && !S_ISDIR(before.st_mode)) return write_through(path, content);
  const std::filesystem::path behind_links = there ? std::filesystem::canonical(path, error) : std::filesystem::path(path);
  TemporaryFile file(error ? path : behind_links.string(), there ? &before : nullptr);
  file.write(content);
  file.take_place();
}

void refuse_to_overwrite(const std::string& target, std::span<const std::string> inputs) {
  struct stat of_target = {}, of_input = {};
  if (::stat(target.c_str(), &of_target) != 0 || !S_ISREG(of_target.st_mode)) return;
  for (const std::string& input : inputs)
    if (::stat(input.c_str(), &of_input) == 0 && of_input.st_dev == of_target.st_dev && of_input.st_ino == of_target.st_ino)
      throw Error(target + " would overwrite " + input + ", which it is made from; choose another name or folder");
}

std::string OutputNames::next(std::string_view audio) {
  if (const std::size_t scheme = audio.find("://"); scheme != std::string_view::npos) {
    audio = audio.substr(0, audio.find_first_of("?#", scheme));
  }
  const std::filesystem::path name = std::filesystem::path(audio).filename();
  std::string whole = audio == "-" ? "stdin" : name.empty() ? "audio" : name.string();
  std::string stem = std::filesystem::path(whole).stem().string();
  if (taken_.insert(stem).second) return stem;
  std::string candidate = whole;
  for (int number = 2; !taken_.insert(candidate).second; ++number) candidate = whole + '-' + std::to_string(number);
  return candidate;
}

}  // namespace sotto
