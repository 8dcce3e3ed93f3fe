// Sound on its way from the thread that captures it to the one that listens.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sotto {

class SoundQueue {
 public:
  // Holds so much at most.
  explicit SoundQueue(int64_t most_samples) : most_(most_samples) {}

  // Adds what fits, and tells how much that was; with `wait`, all of it, as soon as it fits or close() was called.
  size_t push(std::span<const float> samples, bool wait);
  void notice(const std::string& sentence);
  void close();                         // nothing will be added
  void close(std::exception_ptr error); // ... for this reason, which read() throws when all is read

  // As LiveSource has them.
  bool read(std::vector<float>& out);
  double waiting_s() const;
  std::vector<std::string> take_notices();

 private:
  const int64_t most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> samples_;
  std::vector<std::string> notices_;
  std::exception_ptr error_;
  bool closed_ = false;
};

}  // namespace sotto
