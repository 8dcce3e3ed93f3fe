// SubRip and WebVTT files that grow while somebody speaks.
#pragma once

#include <string>

#include "src/live/caption.h"
#include "src/live/outputs/growing_file.h"
#include "src/live/outputs/live_cues.h"
#include "src/writers.h"

namespace sotto {

class SubtitleOutput : public CaptionOutput {
 public:
  // format: srt or vtt. Throws Error, as all of it does where the file can't be written, or the options can't be.
  SubtitleOutput(const std::string& path, Format format, const SubtitleOptions& options);

  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override;
  void notice(double, const std::string&) override {}
  void finish() override;

 private:
  void write(const std::vector<Cue>& cues);

  const Format format_;
  LiveCues cues_;
  GrowingFile file_;
  int n_cues_ = 0;
};

}  // namespace sotto
