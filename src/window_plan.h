// How speech is cut into windows that are decoded side by side: at silence, so that each holds whole sentences where it
// can, whole words always, and up to 30 s of sound. A window is one stretch of the sound, silence between its words
// included: times need no mapping back, the model hears pauses as it was trained to, and a pause too long for that ends
// the window. Positions are mel frames, 10 ms each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "audio/features.h"
#include "src/voice.h"
#include "src/windows.h"

namespace sotto {

struct PlannedWindow {
  Window window;
  std::vector<Speech> speech;  // in it, in samples; all of it where nobody listens for a voice
  bool goes_on = false;        // somebody speaks across its end, without a pause: the next window begins a little before
};

class WindowPlan {
 public:
  // pad_ms: of silence around speech, where there is so much.
  WindowPlan(std::vector<Clip> clips, Features& features, Voice& voice, int pad_ms);

  // The next window with speech; none at the end of the last clip, or of the sound. Reads as far as it must.
  std::optional<PlannedWindow> next();

 private:
  struct Heard {
    int64_t end;  // frame up to which the sound has been heard
    bool all;     // nothing follows in this clip
  };
  Heard hear(int64_t end);
  std::optional<int64_t> find_speech();
  PlannedWindow cut(int64_t start);
  std::optional<int64_t> pause_to_cut_at(const std::vector<Speech>& speech, int64_t start, const Heard& heard) const;
  int64_t quietest_frame(int64_t first, int64_t end);
  const Clip& clip() const { return clips_[clip_]; }

  const std::vector<Clip> clips_;
  Features& features_;
  Voice& voice_;
  const int64_t pad_;  // samples
  size_t clip_ = 0;
  int64_t from_;       // what lies before is in earlier windows, or silent
};

}  // namespace sotto
