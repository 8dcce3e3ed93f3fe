#include "audio/pipe_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "models/error.h"

namespace sotto {
namespace {

constexpr int kLookMs = 100;  // at `stop`, so often
constexpr int kBuffer = 32 * 1024;

}  // namespace

PipeInput::PipeInput(const std::string& path, const std::string& name, const std::atomic<bool>* stop)
    : stop_(stop), own_(path != "-") {
  // Without O_NONBLOCK opening would wait for a writer, and for as long as there is none.
  fd_ = own_ ? open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : STDIN_FILENO;
  if (fd_ < 0) throw Error(name + " can't be opened: " + std::strerror(errno));
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBuffer));
  if (buffer) io_ = avio_alloc_context(buffer, kBuffer, 0, this, &PipeInput::read, nullptr, nullptr);
  if (io_) return;
  av_free(buffer);
  if (own_) close(fd_);
  throw std::bad_alloc();
}

PipeInput::~PipeInput() {
  av_freep(&io_->buffer);  // libav may have put another one in the place of ours
  avio_context_free(&io_);
  if (own_) close(fd_);
}

int PipeInput::read(void* self, uint8_t* buffer, int size) {
  auto& input = *static_cast<PipeInput*>(self);
  for (;;) {
    if (input.stop_ && input.stop_->load(std::memory_order_relaxed)) return AVERROR_EXIT;
    // While nobody has written to a named pipe yet there is nothing to read, nor is that its end.
    pollfd waiting = {input.fd_, POLLIN, 0};
    const int ready = poll(&waiting, 1, kLookMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = ready < 0 ? -1 : ::read(input.fd_, buffer, static_cast<size_t>(size));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return AVERROR(errno);
    if (n == 0) input.ended_ = true;
    else input.got_some_ = true;
    return n > 0 ? static_cast<int>(n) : AVERROR_EOF;
  }
}

}  // namespace sotto
