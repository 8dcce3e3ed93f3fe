// A transcription with a network that gives what a test wants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scripted_network.h"
#include "src/transcribe.h"
#include "temporary.h"
#include "wav.h"

namespace sotto {

// An engine with a script, a file of some length, and what came of them.
struct Scene {
  explicit Scene(int vocabulary = 51864, int n_slots = 1)
      : engine{std::make_shared<Weights>(Weights{.dims = {.mel_bins = 80, .vocabulary = vocabulary}, .name = "script"}),
               Tokenizer(vocabulary), std::make_unique<ScriptedNetwork>(vocabulary, n_slots), nullptr},
        network(static_cast<ScriptedNetwork&>(*engine.network)) {
    listener.warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    listener.segment = [this](const Segment& segment) { heard.push_back(segment); };
  }

  int at(double seconds) const {
    return engine.tokenizer.special().first_timestamp + static_cast<int>(seconds * 50 + 0.5);
  }
  // Tokens of "[start] text [end]".
  std::vector<int> said(double start_s, const std::string& text, double end_s) const {
    std::vector<int> tokens = engine.tokenizer.encode(text);
    tokens.insert(tokens.begin(), at(start_s));
    tokens.push_back(at(end_s));
    return tokens;
  }

  Transcript run(int64_t n_samples) { return run(hum(n_samples)); }
  Transcript run(const std::vector<int16_t>& samples) {
    const std::string path = folder.path() + "/sound.wav";
    write_wav(path, samples);
    return transcribe(engine, {path, {}}, options, listener);
  }

  TemporaryFolder folder;
  Engine engine;
  ScriptedNetwork& network;
  TranscribeOptions options;
  Listener listener;
  std::vector<std::string> warnings;
  std::vector<Segment> heard;
};

constexpr int64_t kSecond = kSampleRate;

inline std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace sotto
