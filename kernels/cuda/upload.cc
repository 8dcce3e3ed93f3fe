#include "kernels/cuda/upload.h"

#include <algorithm>
#include <cstring>

namespace sotto::cuda {

UploadRing::UploadRing(Device& device) : device_(device) {
  memory_ = static_cast<std::byte*>(device_.allocate_host(kPieces * kPiece));
  for (Handle& event : gone_) {
    device_.check(device_.driver().create_event(&event, 0), "an event could not be made on " + device_.name());
  }
}

UploadRing::~UploadRing() {
  device_.driver().synchronize(device_.stream());
  for (Handle event : gone_) {
    if (event) device_.driver().destroy_event(event);
  }
  device_.free_host(memory_);
}

void UploadRing::upload(DevicePointer to, const void* from, int64_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  for (int64_t done = 0; done < bytes; done += kPiece) {
    const int64_t size = std::min(kPiece, bytes - done);
    std::byte* piece = memory_ + next_ * kPiece;
    // An event that was never recorded counts as past.
    device_.check(device_.driver().wait_for_event(gone_[next_]), "weights could not be sent to " + device_.name());
    std::memcpy(piece, source + done, size);
    device_.copy_to_device(to + done, piece, size);
    device_.check(device_.driver().record(gone_[next_], device_.stream()),
                  "weights could not be sent to " + device_.name());
    next_ = (next_ + 1) % kPieces;
  }
}

}  // namespace sotto::cuda
