// A transcription with a network that gives what a test wants.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/catalog.h"
#include "models/error.h"
#include "scripted_network.h"
#include "src/transcribe.h"
#include "temporary.h"
#include "test_models.h"
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

// Real speech, "He might even have been made amiable himself", 3.3 s of it, where it is here.
inline std::vector<int16_t> speech() {
  std::ifstream file(std::string(kTestSpeech) + "/librivox/sense_and_sensibility_01_austen_64kb-0930.wav", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 44) return {};
  const auto* samples = reinterpret_cast<const int16_t*>(bytes.data() + 44);
  return {samples, samples + (bytes.size() - 44) / 2};
}

// Gives a scene ears; false where there are none.
inline bool listen(Scene& scene) {
  try {
    scene.engine.vad = std::make_unique<Vad>(locate_vad({.offline = true, .quiet = true}));
    return !speech().empty();
  } catch (const Error&) {
    MESSAGE("skipped: the weights of the voice activity network are not here");
    return false;
  }
}

inline std::vector<int16_t> and_then(std::vector<int16_t> sound, const std::vector<int16_t>& more) {
  sound.insert(sound.end(), more.begin(), more.end());
  return sound;
}

}  // namespace sotto
