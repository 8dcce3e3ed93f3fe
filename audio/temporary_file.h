// Files without a name in $TMPDIR, else in /tmp: gone when they are closed, whatever ends the program.
#pragma once

#include <atomic>
#include <string>

namespace sotto {

std::string temporary_folder();

// A descriptor for reading and writing; negative with errno set where none can be made.
int open_unnamed_file();

// What comes from a pipe, to be read more than once.
class PipeCopy {
 public:
  // Reads the pipe ("-": standard input) to its end, or until *stop is set, which may be null. Throws Error if it can't
  // be read, or for a full folder.
  PipeCopy(const std::string& pipe, const std::atomic<bool>* stop);
  ~PipeCopy();
  PipeCopy(const PipeCopy&) = delete;
  PipeCopy& operator=(const PipeCopy&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }  // as long as this lives

 private:
  void copy(int from, const std::string& pipe, const std::atomic<bool>* stop);

  int file_ = -1;
};

}  // namespace sotto
