// Packed weights on disk, below sotto_home()/packed: written to the side and renamed, mapped when they are there. What
// is damaged or made for another layout is made anew; where nothing can be written, they stay in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sotto::cpu {

constexpr int kPackVersion = 4;  // of everything that decides the bytes: raise it when any of that changes

struct PackBuffer {
  char* base = nullptr;          // aligned to 64, not to be written to
  std::shared_ptr<void> memory;  // keeps it
};

// key: names the file; empty: memory alone. fill: writes `bytes` bytes from base on.
PackBuffer open_pack(const std::string& key, int64_t bytes, const std::function<void(char* base)>& fill);

}  // namespace sotto::cpu
