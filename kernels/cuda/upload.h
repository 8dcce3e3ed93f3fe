// From the host's memory to the device's in large pieces: while one travels from pinned memory, the next is copied
// there (and read from the disk, where the source is a mapped file).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.h"

namespace sotto::cuda {

class UploadRing {
 public:
  explicit UploadRing(Device& device);
  ~UploadRing();
  UploadRing(const UploadRing&) = delete;
  UploadRing& operator=(const UploadRing&) = delete;

  // `from` has been read when this returns; it is there when the device is synchronized.
  void upload(DevicePointer to, const void* from, int64_t bytes);

 private:
  static constexpr int kPieces = 4;
  static constexpr int64_t kPiece = int64_t{16} << 20;

  Device& device_;
  std::byte* memory_ = nullptr;  // pinned, [kPieces][kPiece]
  Handle gone_[kPieces] = {};    // events: the piece has left
  int next_ = 0;
};

}  // namespace sotto::cuda
