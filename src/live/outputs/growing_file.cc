#include "src/live/outputs/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "models/error.h"
#include "src/writers.h"

namespace sotto {
namespace {

constexpr size_t kPage = 4096;  // bytes; where pages are larger, theirs are whole multiples

}  // namespace

GrowingFile::GrowingFile(const std::string& path, std::string_view header, Records records)
    : path_(path == "-" ? "standard output" : path), records_(records) {
  struct stat status = {};
  const bool there = path != "-" && ::stat(path.c_str(), &status) == 0;
  if (path == "-") {
    fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  } else if (there && !S_ISREG(status.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    regular_ = true;
    write_file(path, header);
    fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    size_ = header.size();
  }
  if (fd_ < 0) throw Error("cannot write " + path_ + ": " + std::generic_category().message(errno));
  if (!regular_ && !header.empty()) append(header);
}

GrowingFile::~GrowingFile() {
  if (fd_ >= 0) ::close(fd_);
}

void GrowingFile::append(std::string_view record) {
  const size_t used = (size_ + waiting_.size()) % kPage;
  if (regular_ && records_ == Records::parted_by_blank_lines && used + record.size() > kPage && record.size() <= kPage)
    waiting_.append(kPage - used, '\n');
  waiting_ += record;
  const int error = write_waiting();
  if (error != 0 && !std::exchange(failing_, error != 0))
    throw Error("cannot write " + path_ + ": " + std::generic_category().message(error) +
                "; what is missing there will follow when it can be written");
  failing_ = error != 0;
}

void GrowingFile::finish() {
  if (const int error = waiting_.empty() ? 0 : write_waiting(); error != 0)
    throw Error("the end is missing in " + path_ + ": " + std::generic_category().message(error));
}

int GrowingFile::write_waiting() {
  size_t done = 0;
  int error = 0;
  while (done < waiting_.size() && error == 0) {
    const ssize_t written = ::write(fd_, waiting_.data() + done, waiting_.size() - done);
    if (written > 0) done += static_cast<size_t>(written);
    else if (written == 0) error = ENOSPC;
    else if (errno != EINTR) error = errno;
  }
  if (error == 0) {
    size_ += waiting_.size();
    waiting_.clear();
  } else if (regular_) {  // no part of a record stays
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) error = errno;
  } else {
    waiting_.erase(0, done);
  }
  return error;
}

}  // namespace sotto
