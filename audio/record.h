// Recordings: sound to FLAC files, while it is captured.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace sotto {

// 16 kHz mono at 24 bits, which holds what sound cards of 16 or 24 bits give exactly, and takes no more room than 16
// bits where that is all there is. Frames go to the system as they are filled, so that a kill costs a fraction of a
// second; the file lacks its total length then, which players do without.
// Encoding and writing are done by a thread of its own, which tries again where a disk is full.
class Recorder {
 public:
  // Throws Error where the file can't be made, and where there is one: a recording is not written over.
  explicit Recorder(const std::string& path);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Samples in [-1, 1); what is beyond is clipped. Never waits and allocates nothing; for one thread at a time. What the
  // disk is too slow for by half a minute is lost, and is silence in the recording, so that times hold.
  void write(std::span<const float> samples);

  // Sentences about what went wrong since the last call.
  std::vector<std::string> take_notices();

  // Writes what waits, and the length; to be called where write() was, which has no effect from then on. Throws Error
  // where the file lacks something.
  void finish();

 private:
  static constexpr uint64_t kRing = 1 << 19;  // samples: 33 s
  struct Gap {
    uint64_t at = 0, length = 0;  // samples written before it; samples lost
  };
  class File;
  void publish_gap();
  void run();
  void encode(uint64_t end);
  void tell(const std::string& sentence);

  const std::string path_;
  std::vector<float> ring_;
  std::atomic<uint64_t> written_ = 0, encoded_ = 0;  // samples, since the beginning
  std::array<Gap, 64> gaps_;
  std::atomic<uint64_t> gaps_written_ = 0, gaps_read_ = 0;
  Gap gap_;                          // the writer's: where it is losing samples
  std::atomic<uint32_t> news_ = 0;   // the thread waits for it to change
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;                 // for the next
  std::vector<std::string> notices_;
  std::string incomplete_;           // the thread's, until it ends: why the file lacks something
  std::unique_ptr<File> file_;       // the thread's
  std::thread thread_;
};

}  // namespace sotto
