#include "src/parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "audio/channels.h"
#include "audio/temporary_file.h"
#include "models/dims.h"
#include "models/error.h"
#include "src/coverage.h"

namespace sotto {
namespace {

void shift(Segment& segment, double by_s) {
  segment.seek += std::llround(by_s * kSampleRate / kMelHop);
  segment.start_s += by_s;
  segment.end_s += by_s;
  for (Word& word : segment.words) {
    word.start_s += by_s;
    word.end_s += by_s;
  }
}

enum class Reading { often, once_to_the_end, once };

Reading how_often_read(const std::string& path) {
  struct stat status = {};
  if (stat(path == "-" ? "/dev/stdin" : path.c_str(), &status) != 0) return Reading::once;
  if (S_ISREG(status.st_mode)) return Reading::often;
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ? Reading::once_to_the_end : Reading::once;
}

std::string name_of_channel(int channel, int n_channels) {
  if (n_channels == 2) return channel == 0 ? "left" : "right";
  return "channel " + std::to_string(channel + 1);
}

// The language in which most is said.
std::string most_spoken(const std::vector<Segment>& segments) {
  std::map<std::string, double> seconds;
  for (const Segment& segment : segments) seconds[segment.language] += segment.end_s - segment.start_s;
  return std::ranges::max_element(seconds, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace

Transcript transcribe_stretch(const Sound& sound, const TranscribeOptions& options, const Listener& listener,
                              const TranscribePart& transcribe) {
  const double start_s = sound.decoding.start_s;
  if (start_s == 0) return transcribe(sound, options, listener);
  TranscribeOptions shifted = options;
  for (double& time : shifted.clip_timestamps) time = std::max(0.0, time - start_s);
  Listener shifting = listener;
  shifting.segment = [&](const Segment& segment) {
    Segment moved = segment;
    shift(moved, start_s);
    listener.segment(moved);
  };
  Transcript transcript = transcribe(sound, shifted, shifting);
  for (Segment& segment : transcript.segments) shift(segment, start_s);
  transcript.duration_s += start_s;
  shift(transcript.coverage, start_s);
  return transcript;
}

Transcript transcribe_channels(const Sound& sound, const TranscribeOptions& options, const Listener& listener,
                               const TranscribePart& transcribe) {
  const Reading reading = how_often_read(sound.path);
  if (reading == Reading::once_to_the_end) {
    const PipeCopy copy(sound.path, sound.decoding.stop);
    Sound copied = sound;
    copied.path = copy.path();
    Transcript transcript = transcribe_channels(copied, options, listener, transcribe);
    transcript.audio = sound.path;
    return transcript;
  }
  if (reading == Reading::once)
    throw Error("the channels of " + (sound.path == "-" ? std::string("standard input") : sound.path) +
                " can't be split, as it can be read only once; save it to a file first");
  const int n_channels = separate_channels(sound.path, sound.decoding);
  if (n_channels == 1) {
    listener.warning(sound.path + ": there is one channel, or all hold the same, so there is nothing to split");
    return transcribe(sound, options, listener);
  }

  Transcript whole;
  int n_without_voice = 0, channel = 0, tracks = 1;
  std::set<std::string> told;  // what is wrong with a file is wrong for each channel
  Listener here = listener;
  here.segment = [](const Segment&) {};
  here.no_voice = [&](int audio_tracks) { ++n_without_voice, tracks = audio_tracks; };
  here.warning = [&](const std::string& sentence) {
    if (told.insert(sentence).second) listener.warning(sentence);
  };
  here.progress = [&](double at_s, std::optional<double> total_s) {
    if (total_s) at_s = (at_s + channel * *total_s) / n_channels;
    listener.progress(at_s, total_s);
  };
  for (; channel < n_channels && !listener.stopped(); ++channel) {
    Sound one = sound;
    one.decoding.channel = channel;
    Transcript part = transcribe(one, options, here);
    for (Segment& segment : part.segments) {
      segment.speaker = name_of_channel(channel, n_channels);
      if (segment.language.empty()) segment.language = part.language;
    }
    part.segments.insert(part.segments.begin(), std::make_move_iterator(whole.segments.begin()),
                         std::make_move_iterator(whole.segments.end()));
    if (channel > 0) part.coverage = merged(whole.coverage, part.coverage);
    whole = std::move(part);
  }
  std::ranges::stable_sort(whole.segments, {}, &Segment::start_s);
  for (size_t i = 0; i < whole.segments.size(); ++i) {
    whole.segments[i].id = static_cast<int>(i);
    listener.segment(whole.segments[i]);
  }
  if (!whole.segments.empty()) whole.language = most_spoken(whole.segments);
  whole.language_probability.reset();
  if (n_without_voice == n_channels) listener.no_voice(tracks);
  return whole;
}

}  // namespace sotto
