// Several outputs at once.
#pragma once

#include <memory>
#include <vector>

#include "src/live/caption.h"

namespace sotto {

// Hands all to each output on a thread of its own, so that captions wait for none of them and none waits for another: a
// terminal that is stopped, a pipe that nobody reads, a disk that sleeps. An output that is late gets what it missed as
// one update with the latest tail, so that what waits for it is never more than the text.
// What an output throws (Error) is told to all as a notice, and it goes on.
class FanOut : public CaptionOutput {
 public:
  explicit FanOut(std::vector<std::unique_ptr<CaptionOutput>> outputs);
  ~FanOut() override;

  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override;
  void notice(double heard_s, const std::string& sentence) override;
  // Returns when every output has all, and has finished. Throws Error, the first that an output threw at that.
  void finish() override;

 private:
  class Lane;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace sotto
