// SHA-256, as 64 lower-case hex digits.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sotto {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(const void* data, size_t size);
  std::string hex() const;  // of everything so far

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_of_file(const std::string& path);  // throws Error if it can't be read

}  // namespace sotto
