// A pipe, a device or standard input for libav: reading waits for what comes, but not when it is to stop.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "audio/av.h"

namespace sotto {

class PipeInput {
 public:
  // "-" is standard input. A named pipe is opened whether anybody writes to it yet or not. stop: once true, reads end with
  // AVERROR_EXIT within a tenth of a second; may be null. Throws Error, with the sentence's subject `name`.
  PipeInput(const std::string& path, const std::string& name, const std::atomic<bool>* stop);
  ~PipeInput();
  PipeInput(const PipeInput&) = delete;
  PipeInput& operator=(const PipeInput&) = delete;

  AVIOContext* io() const { return io_; }  // which can't seek; must not be used when this is gone
  bool empty() const { return ended_ && !got_some_; }

 private:
  static int read(void* self, uint8_t* buffer, int size);

  const std::atomic<bool>* stop_;
  int fd_ = -1;
  bool own_ = false;
  bool got_some_ = false, ended_ = false;
  AVIOContext* io_ = nullptr;
};

}  // namespace sotto
