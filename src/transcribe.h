// Sound to transcript: the way of the data, from a file to segments with times. Start reading here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "audio/decode.h"
#include "audio/vad.h"
#include "kernels/network.h"
#include "models/tokenizer.h"
#include "models/weights.h"
#include "src/language.h"
#include "src/options.h"
#include "src/transcript.h"

namespace sotto {

// A model that is open and ready to run. Opened once, for any number of files.
struct Engine {
  std::shared_ptr<const Weights> weights;
  Tokenizer tokenizer;
  std::unique_ptr<Network> network;
  std::unique_ptr<Vad> vad;  // null: every window is decoded, whether anybody speaks in it or not
};

// Without a Vad. Of 0 slots: as many windows side by side as suit the model and the memory. Throws Error.
Engine open_engine(const std::string& model_path, const NetworkOptions& options);

struct Sound {
  std::string path;  // "-": standard input
  DecodeOptions decoding;
};

// What happens on the way, for whoever wants to know. Each may be empty.
struct Listener {
  std::function<void(const Segment&)> segment;                             // as soon as it is final
  std::function<void(double at_s, std::optional<double> total_s)> progress;
  std::function<void(const HeardLanguage&)> detected_language;
  std::function<void(const std::string& sentence)> warning;
  std::function<bool()> stopped;  // true: end with what there is
  std::function<void(int audio_tracks)> no_voice;  // at the end, if none was heard in any window; of so many tracks
};

// Throws Error, one sentence, for sound that can't be read and options that don't fit the model.
Transcript transcribe(Engine& engine, const Sound& sound, const TranscribeOptions& options, const Listener& listener);

}  // namespace sotto
