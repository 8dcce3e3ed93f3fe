// Captions as JSON lines (events.h).
#pragma once

#include <string>

#include "src/live/caption.h"
#include "src/live/outputs/events.h"
#include "src/live/outputs/growing_file.h"

namespace sotto {

class JsonOutput : public CaptionOutput {
 public:
  explicit JsonOutput(const std::string& path);  // "-": standard output. Throws Error, as all of it does
  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override;
  void notice(double heard_s, const std::string& sentence) override;
  void finish() override;

 private:
  GrowingFile file_;
  EventMaker events_;
  double heard_s_ = 0;
};

}  // namespace sotto
