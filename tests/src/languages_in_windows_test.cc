// Languages and prompts of windows, and parts of files: in both modes, with a network that gives what the test wants.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "models/error.h"
#include "scripted_network.h"
#include "src/transcribe.h"
#include "temporary.h"
#include "wav.h"

using namespace sotto;

namespace {

constexpr int kManyLanguages = 51865;
constexpr int64_t kSecond = kSampleRate;

struct Scene {
  explicit Scene(Mode mode = Mode::sequential, int vocabulary = kManyLanguages)
      : engine{std::make_shared<Weights>(Weights{.dims = {.mel_bins = 80, .vocabulary = vocabulary}, .name = "script"}),
               Tokenizer(vocabulary), std::make_unique<ScriptedNetwork>(vocabulary), nullptr},
        network(static_cast<ScriptedNetwork&>(*engine.network)) {
    options.mode = mode;
    network.languages.assign(99, -9);
    listener.warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    listener.segment = [this](const Segment& segment) { printed += segment.text; };
    listener.detected_language = [this](const HeardLanguage& language) { detected.push_back(language); };
  }

  // "[0] text [end]".
  Scripted said(const std::string& text, double end_s) const {
    const int zero = engine.tokenizer.special().first_timestamp;
    std::vector<int> tokens = engine.tokenizer.encode(text);
    tokens.insert(tokens.begin(), zero);
    tokens.push_back(zero + static_cast<int>(end_s * 50 + 0.5));
    return {tokens};
  }
  Transcript run(const std::vector<int16_t>& samples, int channels = 1) {
    const std::string path = folder.path() + "/sound.wav";
    write_wav(path, samples, -1, 16000, channels);
    return transcribe(engine, {path, decoding}, options, listener);
  }
  // The language in a window's prompt; 0: English.
  int language_of_pass(int i) const {
    const auto& prompt = network.begun.at(i).prompt;
    return prompt[prompt.size() - 2] - engine.tokenizer.special().sot - 1;
  }

  TemporaryFolder folder;
  Engine engine;
  ScriptedNetwork& network;
  DecodeOptions decoding;
  TranscribeOptions options;
  Listener listener;
  std::vector<std::string> warnings;
  std::vector<HeardLanguage> detected;
  std::string printed;
};

// Log-probs that are sure of one language as far as this.
std::vector<float> sure_of(int language, double probability) {
  std::vector<float> log_probs(99, static_cast<float>(std::log((1 - probability) / 98)));
  log_probs[language] = static_cast<float>(std::log(probability));
  return log_probs;
}

constexpr int kEnglish = 0, kGerman = 2, kSpanish = 3;

}  // namespace

TEST_CASE("hotwords stand in the prompt of each window, in both modes, whatever is forgotten") {
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene(mode, 51864);
    scene.options.prompt.hotwords = "Sauron, Morgul";
    scene.options.prompt.condition_on_previous_text = false;
    scene.options.clip_timestamps = {0, 20, 25, 45};
    scene.network.script = {scene.said(" One.", 20), scene.said(" Two.", 20)};
    scene.run(hum(50 * kSecond));
    const std::vector<int> hotwords = scene.engine.tokenizer.encode(" Sauron, Morgul");
    REQUIRE(scene.network.begun.size() == 2);
    for (const auto& begun : scene.network.begun) {
      REQUIRE(begun.prompt.size() == hotwords.size() + 2);
      CHECK(std::vector<int>(begun.prompt.begin() + 1, begun.prompt.end() - 1) == hotwords);
    }
  }
}

TEST_CASE("a vote over windows outdoes a first one that isn't sure, whatever there is besides") {
  Scene scene(Mode::batched);
  scene.options.clip_timestamps = {0, 10, 12, 22, 24, 34};
  scene.network.languages_to_come = {sure_of(kEnglish, 0.6), sure_of(kGerman, 0.95), sure_of(kGerman, 0.95)};
  scene.network.script = {scene.said(" Eins", 10), scene.said(" Zwei", 10), scene.said(" Drei", 10)};
  const Transcript transcript = scene.run(hum(40 * kSecond));
  CHECK(transcript.language == "de");
  REQUIRE(scene.detected.size() == 1);
  CHECK(scene.detected[0].code == "de");
  CHECK(scene.detected[0].probability == doctest::Approx((0.95 * 2 + 0.4 / 98) / 3).epsilon(1e-3));
  CHECK(*transcript.language_probability == doctest::Approx(scene.detected[0].probability));
  for (int i = 0; i < 3; ++i) CHECK(scene.language_of_pass(i) == kGerman);
  CHECK(transcript.text() == "Eins Zwei Drei");
  CHECK(scene.network.encoded.size() == 3 + 3);  // short ones are heard with silence behind, and written without
  CHECK(scene.network.encoded[0].back() != 0);
  CHECK(scene.network.encoded[5].back() == 0);
}

TEST_CASE("an introduction in another language, however sure, has one voice among three") {
  Scene scene(Mode::batched);
  scene.options.clip_timestamps = {0, 20, 22, 42, 44, 64, 66, 86};
  scene.network.languages_to_come = {sure_of(kEnglish, 0.97), sure_of(kSpanish, 0.98), sure_of(kSpanish, 0.98)};
  for (const char* text : {" One", " Dos", " Tres", " Cuatro"}) scene.network.script.push_back(scene.said(text, 20));
  CHECK(scene.run(hum(90 * kSecond)).language == "es");
  CHECK(scene.network.n_languages_asked == 4);  // after three it was not clear, and there is no fifth
}

TEST_CASE("where windows follow each other, a first one that is sure and long is listened to alone") {
  Scene scene;
  scene.options.clip_timestamps = {0, 20, 22, 32};
  scene.network.languages_to_come = {sure_of(kSpanish, 0.97)};
  scene.network.script = {scene.said(" Uno", 20), scene.said(" Dos", 10)};
  CHECK(scene.run(hum(40 * kSecond)).language == "es");
  CHECK(scene.network.n_languages_asked == 1);
}

TEST_CASE("the language is one of those that are allowed, in both modes and to be translated, too") {
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene(mode);
    scene.options.languages = {"de", "es"};
    scene.options.translate = true;
    scene.network.languages = sure_of(kEnglish, 0.9);
    scene.network.languages[kSpanish] = -3;
    scene.network.script = {scene.said(" One", 5)};
    CHECK(scene.run(hum(5 * kSecond)).language == "es");
    CHECK(scene.detected.at(0).probability > 0.8);
    CHECK(scene.language_of_pass(0) == kSpanish);
    CHECK(scene.network.begun[0].prompt.back() == scene.engine.tokenizer.special().translate);
  }
}

TEST_CASE("each window in its own language, which no other's text is the context of") {
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene(mode);
    scene.options.language_per_segment = true;
    scene.options.clip_timestamps = {0, 10, 12, 22, 24, 25};
    scene.network.languages_to_come = {sure_of(kEnglish, 0.9), sure_of(kGerman, 0.9), sure_of(kSpanish, 0.5)};
    scene.network.script = {scene.said(" One", 10), scene.said(" Zwei", 10), scene.said(" Drei", 1)};
    const Transcript transcript = scene.run(hum(40 * kSecond));
    REQUIRE(transcript.segments.size() == 3);
    CHECK(transcript.segments[0].language == "en");
    CHECK(transcript.segments[1].language == "de");
    CHECK(transcript.segments[2].language != "es");  // a second that isn't sure has less to say than what was before it
    CHECK(scene.language_of_pass(1) == kGerman);
    CHECK(scene.network.begun[1].prompt.size() == 3);
    CHECK(scene.detected.size() == 1);
    CHECK(transcript.language_probability.has_value());
  }
}

TEST_CASE("a stretch of a file is transcribed alone, at the file's times") {
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene(mode, 51864);
    scene.decoding.start_s = 20;
    scene.decoding.end_s = 45;
    std::vector<Segment> heard;
    scene.listener.segment = [&](const Segment& segment) { heard.push_back(segment); };
    scene.network.script = {scene.said(" One.", 25)};
    const Transcript transcript = scene.run(hum(60 * kSecond));
    REQUIRE(transcript.segments.size() == 1);
    CHECK(transcript.segments[0].start_s == doctest::Approx(20));
    CHECK(transcript.segments[0].end_s == doctest::Approx(45));
    CHECK(transcript.segments[0].seek == 2000);
    CHECK(transcript.duration_s == doctest::Approx(45));
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].start_s == doctest::Approx(20));
  }
  Scene clips(Mode::sequential, 51864);
  clips.decoding.start_s = 20;
  clips.options.clip_timestamps = {0, 10, 15, 30, 40, 50};
  clips.network.script = {clips.said(" One.", 10), clips.said(" Two.", 10)};
  const Transcript transcript = clips.run(hum(60 * kSecond));
  REQUIRE(transcript.segments.size() == 2);
  CHECK(transcript.segments[0].start_s == doctest::Approx(20));
  CHECK(transcript.segments[1].start_s == doctest::Approx(40));
}

TEST_CASE("a stretch behind the end is empty, and it is said why") {
  Scene scene(Mode::sequential, 51864);
  scene.decoding.start_s = 20;
  CHECK(scene.run(hum(11 * kSecond)).segments.empty());
  REQUIRE(scene.warnings.size() == 1);
  CHECK(scene.warnings[0].find("ends at 11.0 s") != std::string::npos);
}

TEST_CASE("each channel of a call is a speaker, and they take turns as they do in time") {
  const std::vector<int16_t> left = noise(20 * kSecond, 3000), right = hum(20 * kSecond, 300);
  std::vector<int16_t> both;
  for (size_t i = 0; i < left.size(); ++i) both.insert(both.end(), {left[i], right[i]});
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene(mode);
    scene.options.split_channels = true;
    scene.network.languages_to_come = {sure_of(kEnglish, 0.9), sure_of(kGerman, 0.9)};
    const int zero = scene.engine.tokenizer.special().first_timestamp;
    const auto turns = [&](const std::string& a, int a_s, const std::string& b, int b_s) {
      Scripted all = scene.said(a, a_s + 4);
      all.tokens[0] += a_s * 50;
      const std::vector<int> second = scene.engine.tokenizer.encode(b);
      all.tokens.push_back(zero + b_s * 50);
      all.tokens.insert(all.tokens.end(), second.begin(), second.end());
      all.tokens.push_back(zero + b_s * 50 + 200);
      return all;
    };
    scene.network.script = {turns(" Hello?", 0, " Who?", 10), turns(" Hallo!", 5, " Ich.", 15)};
    const Transcript transcript = scene.run(both, 2);
    REQUIRE(transcript.segments.size() == 4);
    CHECK(transcript.text() == "Hello? Hallo! Who? Ich.");
    CHECK(scene.printed == " Hello? Hallo! Who? Ich.");
    for (int i = 0; i < 4; ++i) {
      CHECK(transcript.segments[i].id == i);
      CHECK(transcript.segments[i].speaker == (i % 2 == 0 ? "left" : "right"));
      CHECK(transcript.segments[i].language == (i % 2 == 0 ? "en" : "de"));
    }
    CHECK(transcript.duration_s == doctest::Approx(20));
    CHECK(scene.network.encoded[0] != scene.network.encoded.back());
    CHECK(scene.warnings.empty());
  }
}

TEST_CASE("where there is nothing to split that is said, and the sound is transcribed once") {
  const std::vector<int16_t> one = noise(5 * kSecond, 3000);
  std::vector<int16_t> twice;
  for (const int16_t sample : one) twice.insert(twice.end(), {sample, sample});
  for (const int channels : {1, 2}) {
    Scene scene(Mode::sequential, 51864);
    scene.options.split_channels = true;
    scene.network.script = {scene.said(" One.", 5)};
    const Transcript transcript = scene.run(channels == 1 ? one : twice, channels);
    CHECK(transcript.text() == "One.");
    CHECK(transcript.segments[0].speaker.empty());
    CHECK(scene.warnings.size() == 1);
  }
  Scene endless(Mode::sequential, 51864);
  endless.options.split_channels = true;
  CHECK_THROWS_WITH_AS(transcribe(endless.engine, {"/dev/null", {}}, endless.options, endless.listener),
                       doctest::Contains("only once"), Error);
}

TEST_CASE("the channels of a call that comes from a pipe are split, too") {
  const std::vector<int16_t> left = noise(5 * kSecond, 3000), right = hum(5 * kSecond, 300);
  std::vector<int16_t> both;
  for (size_t i = 0; i < left.size(); ++i) both.insert(both.end(), {left[i], right[i]});
  Scene scene(Mode::sequential, 51864);
  scene.options.split_channels = true;
  scene.network.script = {scene.said(" One.", 5), scene.said(" Two.", 5)};
  const std::string file = scene.folder.path() + "/call.wav", pipe = scene.folder.path() + "/pipe";
  write_wav(file, both, -1, 16000, 2);
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << std::ifstream(file, std::ios::binary).rdbuf(); });
  const Transcript transcript = transcribe(scene.engine, {pipe, {}}, scene.options, scene.listener);
  writer.join();
  CHECK(transcript.text() == "One. Two.");
  CHECK(transcript.segments.at(1).speaker == "right");
  CHECK(transcript.audio == pipe);
}
