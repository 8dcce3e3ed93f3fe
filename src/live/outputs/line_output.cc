#include "src/live/outputs/line_output.h"

#include "src/writers.h"

namespace sotto {

LineOutput::LineOutput(const std::string& path) : file_(path, "", GrowingFile::Records::lines) {}

void LineOutput::update(const CaptionUpdate& update) { write(gatherer_.take(update)); }

void LineOutput::finish() {
  write(gatherer_.finish());
  file_.finish();
}

void LineOutput::write(const std::vector<std::vector<Word>>& sentences) {
  std::string lines;
  for (const std::vector<Word>& words : sentences) {
    const std::string line = terminal_line(transcript_of(words, "").segments[0]);
    if (!line.empty()) lines += line + '\n';
  }
  if (!lines.empty()) file_.append(lines);
}

}  // namespace sotto
