// The stored (uncompressed) entries of a zip file, 64-bit ones too, as views.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace sotto {

class Zip {
 public:
  // Reads the directory at the file's end. Entries are known by their names without the top folder, which PyTorch names
  // as it likes. path: for messages. Throws Error for what isn't a whole zip, and for a compressed entry.
  Zip(const std::string& path, std::span<const std::byte> bytes);

  std::optional<std::span<const std::byte>> find(const std::string& name) const;

 private:
  std::unordered_map<std::string, std::span<const std::byte>> entries_;
};

}  // namespace sotto
