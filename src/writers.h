// Transcripts as text: lines for a terminal, and files in many formats (src/writers/). Whatever a segment holds, all that
// leaves here is valid UTF-8, and no control character of a text goes unescaped.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/subtitles/cue.h"
#include "src/transcript.h"

namespace sotto {

enum class Format { txt, srt, vtt, ass, ttml, sbv, lrc, tsv, csv, json, jsonl, textgrid, ctm, stm, rttm, otr, aud };

std::string_view extension(Format format);  // "srt"; also its name on the command line

std::string format_names();  // of all, as in a sentence

// The formats of a list such as "txt,srt", each once. "all" stands for what openai-whisper writes: txt, vtt, srt, tsv and
// json. Throws Error.
std::vector<Format> parse_formats(std::string_view list);

// Whether a format shows cues; the others have a transcript's segments, and some each word with its time.
bool has_cues(Format format);
bool has_words(Format format);

// The whole content of a file in a format. cues: the transcript's, by subtitles/layout.h. Without segments it is still a
// valid file: an empty one in txt and srt, the header in vtt and tsv, and so on. Segments without text are left out, but not
// in JSON, where they stand as the reference has them. Times are rounded to milliseconds, and none ends before it starts.
// JSON is one value on several lines in json, on a single line in jsonl. karaoke: vtt, ass, lrc and ttml have each word's time.
std::string render(const Transcript& transcript, std::span<const Cue> cues, Format format, bool karaoke = false);

// One cue as it stands in a file of srt (with its number, from 1) or vtt; empty if it has no text.
std::string render_cue(const Cue& cue, Format format, int number);

// "[mm:ss.mmm --> mm:ss.mmm] text" without a line end, from one hour on with "hh:"; empty if the segment has no text.
std::string terminal_line(const Segment& segment);

// "[mm:ss.mmm --> mm:ss.mmm] kind" for each stretch, a line each.
std::string coverage_lines(const Coverage& coverage);

// "1:48", from one hour on "1:02:03": a time in a sentence, to the nearest second.
std::string rough_time(double seconds);

// Writes a file that is there whole or not at all: a temporary file in the same folder takes its place once it is on
// disk. Makes the folder if there is none. A file that was there gives the new one its permissions, and one behind a link
// is replaced, not the link; a device or a pipe is written to. Throws Error; a file that was there before is then as it was.
void write_file(const std::string& path, std::string_view content);

// Throws Error if the target is one of the files that it is made from, by whatever name.
void refuse_to_overwrite(const std::string& target, std::span<const std::string> inputs);

// Names for the outputs of one run, such that no input's overwrite another's in one folder: the input's name without
// folder and extension, as in openai-whisper ("talks/a.wav" -> "a"); if an earlier input has taken that, with its
// extension ("a.mp3"); if that is taken too, with a number ("a.mp3-2"). Standard input ("-") is "stdin"; of a URL the
// last part of its path counts.
class OutputNames {
 public:
  std::string next(std::string_view audio);

 private:
  std::set<std::string> taken_;
};

}  // namespace sotto
