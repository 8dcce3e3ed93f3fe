// Any file, pipe or stream that libav can read, as 16 kHz mono sound on the container's own clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/pcm.h"

namespace sotto {

struct DecodeOptions {
  int audio_track = -1;  // which audio stream, from 0; -1: libav's choice of the best
  std::string raw;       // headerless sound: "s16le:8000:1" (sample format : rate : channels); empty: a container
  int channel = -1;      // taken alone, from 0; -1: all are mixed
  double start_s = 0;    // only the sound from here on, on the container's clock
  std::optional<double> end_s;  // ... and before here
  const std::atomic<bool>* stop = nullptr;  // once true, a read that waits for input ends with an Error
};

// Throws Error if DecodeOptions::raw is nothing that headerless sound can be.
void check_raw(const std::string& raw);

class Decoder {
 public:
  // "-" is standard input. Throws Error with one sentence for what can't be opened or holds no sound.
  Decoder(const std::string& path, const DecodeOptions& options);
  ~Decoder();

  // The next second or so. What it gives joins without gaps (silence stands for the container's), from start_s on; what
  // is before that is leapt over where the format has exact places, else decoded and dropped. False at the end. Damaged
  // input ends or skips with a warning; throws Error if nothing at all could be decoded.
  bool read(Pcm& out);

  // What is to come in all, as the container claims, or as its bit rate lets guess; for progress.
  std::optional<double> duration_s() const;
  int audio_tracks() const;                  // of the container
  bool seekable() const;                     // a regular file: it may be read ahead
  std::vector<std::string> take_warnings();  // sentences collected since the last call, each naming the input

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sotto
