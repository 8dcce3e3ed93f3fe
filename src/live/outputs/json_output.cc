#include "src/live/outputs/json_output.h"

#include <algorithm>

namespace sotto {

JsonOutput::JsonOutput(const std::string& path) : file_(path, "", GrowingFile::Records::lines) {}

void JsonOutput::update(const CaptionUpdate& update) {
  heard_s_ = std::max(heard_s_, update.heard_s);
  std::string lines;
  for (const Event& event : events_.take(update)) lines.append(event.json).append("\n");
  if (!lines.empty()) file_.append(lines);
}

void JsonOutput::level(double heard_s, float, bool) { heard_s_ = std::max(heard_s_, heard_s); }

void JsonOutput::notice(double heard_s, const std::string& sentence) {
  file_.append(notice_event(heard_s, sentence).json + '\n');
}

void JsonOutput::finish() {
  file_.append(end_event(heard_s_).json + '\n');
  file_.finish();
}

}  // namespace sotto
