#include "src/cli/redo.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "models/error.h"
#include "src/subtitles/layout.h"
#include "src/writers.h"

namespace sotto {

Stretch parse_stretch(const std::string& range) {
  const size_t dash = range.find('-', 1);
  if (dash == range.npos)
    throw Error("'" + range + "' is no stretch to do again; it is written as two times: 00:10-00:25");
  const Stretch stretch = {time_ms(range.substr(0, dash), "--redo"), time_ms(range.substr(dash + 1), "--redo")};
  if (stretch.start_ms < 0 || stretch.start_ms >= stretch.end_ms)
    throw Error("the stretch " + range + " to do again ends before it begins");
  return stretch;
}

Redo read_redo(Stretch stretch, const std::string& path) {
  Redo redo{path, read_cue_file(path), {}};
  redo.stretch = widened(redo.file, stretch);
  return redo;
}

void write_redo(Redo redo, const Transcript& transcript, const SubtitleOptions& options) {
  // What stands in a file comes from its format's writer, so that it is written like the rest.
  const Format format = parse_formats(extension_of(redo.file.format))[0];
  const CueFile made = parse_cue_file(render(transcript, lay_out(transcript, options), format));
  const auto like = std::ranges::min_element(redo.file.cues, {}, [&](const FileCue& cue) {
    return std::abs(cue.start_ms - redo.stretch.start_ms);
  });
  std::vector<FileCue> added;
  for (const FileCue& cue : made.cues) added.push_back(in_shape_of(redo.file, &*like, made, cue));
  splice(redo.file, redo.stretch, added, resolve(options, transcript.language).gap_ms);
  write_file(redo.path, write_cue_file(redo.file));
}

}  // namespace sotto
