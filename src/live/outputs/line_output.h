// Captions as lines of text, for files and pipes.
#pragma once

#include <string>

#include "src/live/caption.h"
#include "src/live/outputs/growing_file.h"
#include "src/live/outputs/sentences.h"

namespace sotto {

// "[mm:ss.mmm --> mm:ss.mmm] text" for each sentence, as soon as it is over. Notices are none of its business.
class LineOutput : public CaptionOutput {
 public:
  explicit LineOutput(const std::string& path);  // "-": standard output. Throws Error, as all of it does
  void update(const CaptionUpdate& update) override;
  void level(double, float, bool) override {}
  void notice(double, const std::string&) override {}
  void finish() override;

 private:
  void write(const std::vector<std::vector<Word>>& sentences);

  GrowingFile file_;
  SentenceGatherer gatherer_;
};

}  // namespace sotto
