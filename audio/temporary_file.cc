#include "audio/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "models/error.h"

namespace sotto {

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

int open_unnamed_file() {
#if defined(O_TMPFILE)
  const int direct = ::open(temporary_folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (direct >= 0) return direct;  // not every file system can
#endif
  std::string name = temporary_folder() + "/sotto-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return file;
  ::fcntl(file, F_SETFD, FD_CLOEXEC);
  ::unlink(name.c_str());
  return file;
}

PipeCopy::PipeCopy(const std::string& pipe, const std::atomic<bool>* stop) : file_(open_unnamed_file()) {
  if (file_ < 0) throw Error("can't make a temporary file in " + temporary_folder() + ": " + std::strerror(errno));
  const int from = pipe == "-" ? STDIN_FILENO : ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
  try {
    if (from < 0) throw Error(pipe + " can't be read: " + std::strerror(errno));
    copy(from, pipe, stop);
  } catch (...) {
    if (from > STDIN_FILENO) ::close(from);
    ::close(file_);
    throw;
  }
  if (from > STDIN_FILENO) ::close(from);
}

PipeCopy::~PipeCopy() { ::close(file_); }

void PipeCopy::copy(int from, const std::string& pipe, const std::atomic<bool>* stop) {
  std::vector<char> bytes(1 << 16);
  while (!stop || !*stop) {
    const ssize_t n = ::read(from, bytes.data(), bytes.size());
    if (n == 0) return;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(pipe + " can't be read: " + std::strerror(errno));
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = ::write(file_, bytes.data() + done, n - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0)
        throw Error("a temporary file in " + temporary_folder() + " can't be written (" + std::strerror(errno) +
                    "); set TMPDIR to a folder with room");
      done += written;
    }
  }
}

}  // namespace sotto
