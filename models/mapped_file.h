// A file's bytes, mapped and only read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sotto {

class MappedFile {
 public:
  // Maps a regular file that isn't empty. Throws Error. The file must not shrink while it is mapped.
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  // Bytes that were made while reading another file and live as long as its mapping.
  static std::shared_ptr<const MappedFile> of_bytes(std::vector<std::byte> bytes);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile() = default;

  std::string path_;
  std::span<const std::byte> bytes_;
  std::vector<std::byte> owned_;  // of_bytes only
};

}  // namespace sotto
