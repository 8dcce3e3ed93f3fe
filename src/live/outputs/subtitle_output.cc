#include "src/live/outputs/subtitle_output.h"

#include <optional>

#include "models/error.h"

namespace sotto {

SubtitleOutput::SubtitleOutput(const std::string& path, Format format, const SubtitleOptions& options)
    : format_(format), cues_(options), file_(path, render({}, {}, format), GrowingFile::Records::parted_by_blank_lines) {
  CHECK_INVARIANT(has_cues(format));
}

void SubtitleOutput::update(const CaptionUpdate& update) { write(cues_.take(update)); }

void SubtitleOutput::level(double heard_s, float, bool) { write(cues_.heard(heard_s)); }

void SubtitleOutput::finish() {
  write(cues_.finish());
  file_.finish();
}

void SubtitleOutput::write(const std::vector<Cue>& cues) {
  std::optional<Error> trouble;
  for (const Cue& cue : cues) {
    const std::string record = render_cue(cue, format_, n_cues_ + 1);
    if (record.empty()) continue;
    ++n_cues_;
    try {
      file_.append(record);
    } catch (const Error& error) {
      trouble = error;  // the file keeps what it couldn't write, so that every cue must reach it
    }
  }
  if (trouble) throw *trouble;
}

}  // namespace sotto
