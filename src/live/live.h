// `sotto live` below its command line: a source's sound to captions, as long as it goes on.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "audio/live_source.h"
#include "src/live/captioner.h"

namespace sotto {

// What happens beside the captions. Each may be empty.
struct LiveListener {
  std::function<void(std::span<const float> samples)> sound;  // all of it, in its order, as it is heard
  std::function<bool()> stopped;                              // true: say what is left, and end
};

struct Captioned {
  double heard_s = 0;
  int n_passes = 0;
};

// Until the source ends. Throws Error where the source does, after the outputs were finished.
Captioned caption(Engine& engine, LiveSource& source, const LiveOptions& options, CaptionOutput& output,
                  const LiveListener& listener);

}  // namespace sotto
