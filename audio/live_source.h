// Sound as it is made: a microphone, a pipe, a file that is played.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audio/clock.h"
#include "audio/decode.h"

namespace sotto {

// Captures from the moment it is made, whether it is read or not. 16 kHz mono in [-1, 1), without gaps: what was lost
// is silence.
class LiveSource {
 public:
  virtual ~LiveSource() = default;

  // Appends all that was captured since the last call; waits for some, but not longer than a tenth of a second or so,
  // after which nothing may have come. False at the end. Throws Error for a source that can't go on.
  virtual bool read(std::vector<float>& out) = 0;

  virtual double waiting_s() const = 0;                              // captured, not yet read
  virtual std::vector<std::string> take_notices() { return {}; }     // sentences since the last call
};

// A file, played by a clock. The clock must live as long as this. Throws Error for what can't be opened.
std::unique_ptr<LiveSource> play_file(const std::string& path, const DecodeOptions& options, Clock& clock);

// A pipe, a device or a stream from a network ("-": standard input), decoded as it arrives. What can't be opened or
// decoded shows in read().
std::unique_ptr<LiveSource> listen_to_pipe(const std::string& path, const DecodeOptions& options);

}  // namespace sotto
