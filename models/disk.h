// Writing to a disk that may be full, read-only or shared with another process, with sentences for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "models/error.h"

namespace sotto {

// The Error for a path that can't be written, from errno.
Error disk_error(const std::string& path, int error);

void make_folder(const std::string& path);  // with its parents
void rename_durably(const std::string& from, const std::string& to);
void remove_all(const std::string& path);
int64_t size_on_disk(const std::string& path);  // of a file, or of all files below a folder; 0 if there is none

// A file being written: at its end, or from nothing.
class OutFile {
 public:
  OutFile(const std::string& path, bool append);
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  void write(const void* data, size_t size);
  void restart();  // empties it
  void finish();   // on the disk for good, and closed

 private:
  std::string path_;
  int file_;
};

// A lock that one holder has at a time, in this process or another; free again when its holder ends, however it does.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool try_lock();
  void lock();  // waits

 private:
  std::string path_;
  int file_;
};

}  // namespace sotto
