// Windows side by side: what each says doesn't depend on its company, and nothing between them gets lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/synthetic.h"
#include "models/catalog.h"
#include "scene.h"
#include "src/batched.h"
#include "test_models.h"

using namespace sotto;

namespace {

// A scene in batched mode whose sound is nothing but windows: each clip is one.
struct Clips : Scene {
  Clips(int n_slots, const std::vector<double>& times_s) : Scene(51864, n_slots) {
    options.mode = Mode::batched;
    options.clip_timestamps = times_s;
  }
};

std::vector<int> tokens_of(const Transcript& transcript) {
  std::vector<int> tokens;
  for (const Segment& segment : transcript.segments) {
    tokens.push_back(static_cast<int>(segment.seek));
    tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
  }
  return tokens;
}

}  // namespace

TEST_CASE("windows are encoded and decoded together, and come out in the order of the sound") {
  Clips scene(4, {0, 10, 20, 30, 40, 50});
  scene.network.script = {{scene.said(0, " One takes the longest of them all.", 9)},
                          {scene.said(0, " Two.", 9)}, {scene.said(0, " Three.", 9)}};
  const Transcript transcript = scene.run(60 * kSecond);
  CHECK(transcript.text() == "One takes the longest of them all. Two. Three.");
  CHECK(scene.network.encoded_together == std::vector<int>{3});
  CHECK(scene.network.n_steps == static_cast<int>(scene.said(0, " One takes the longest of them all.", 9).size()) + 1);
  REQUIRE(transcript.segments.size() == 3);
  CHECK(transcript.segments[1].id == 1);
  CHECK(transcript.segments[1].seek == 2000);
  CHECK(transcript.segments[2].start_s == doctest::Approx(40));
  CHECK(transcript.segments[2].end_s == doctest::Approx(49));
  CHECK(scene.heard.size() == 3);
}

TEST_CASE("a slot takes the next window when it has finished one") {
  Clips scene(2, {0, 10, 10, 20, 20, 30, 30, 40});
  const std::string text = " This is rather a lot to say in one window, and the others are short.";
  scene.network.script = {{scene.said(0, text, 9)}, {scene.said(0, " B.", 9)}, {scene.said(0, " C.", 9)},
                          {scene.said(0, " D.", 9)}};
  CHECK(scene.run(40 * kSecond).text() == text.substr(1) + " B. C. D.");
  CHECK(scene.network.encoded_together == std::vector<int>{2, 1, 1});
  CHECK(scene.network.n_steps == static_cast<int>(scene.said(0, text, 9).size()) + 1);
}

TEST_CASE("each window has the initial prompt in mind, and no other window's text") {
  Clips scene(2, {0, 10, 10, 20});
  scene.options.prompt.initial = "names";
  scene.network.script = {{scene.said(0, " One.", 9)}, {scene.said(0, " Two.", 9)}};
  scene.run(20 * kSecond);
  const SpecialTokens& special = scene.engine.tokenizer.special();
  for (const auto& begun : scene.network.begun)
    CHECK(begun.prompt == joined(joined({special.sot_prev}, scene.engine.tokenizer.encode(" names")), {special.sot}));
}

TEST_CASE("a window that fails begins again in its slot while the others go on") {
  Clips scene(2, {0, 10, 10, 20});
  const std::string text = " The other one has enough to say until that is done, and more.";
  scene.network.script = {{scene.said(0, " Hm.", 9), -1.5}, {scene.said(0, text, 9)}, {scene.said(0, " Good.", 9)}};
  const Transcript transcript = scene.run(20 * kSecond);
  CHECK(transcript.text() == "Good." + text);
  CHECK(transcript.segments.at(0).temperature == doctest::Approx(0.2));
  CHECK(scene.network.encoded.size() == 2);
  CHECK(scene.network.n_steps == static_cast<int>(scene.said(0, text, 9).size()) + 1);
}

TEST_CASE("a loop is stopped while it is written, tried again, and nothing of it remains") {
  Clips scene(1, {0, 10});
  std::vector<int> loop = scene.said(0, " Thank you.", 9);
  loop.pop_back();
  const std::vector<int> once = scene.engine.tokenizer.encode(" Thank you.");
  while (loop.size() < 200) loop.insert(loop.end(), once.begin(), once.end());
  scene.network.script = {{.tokens = loop, .ends = false}, {scene.said(0, " Real words.", 9)}};
  CHECK(scene.run(10 * kSecond).text() == "Real words.");
  CHECK(scene.network.stopped);
  CHECK(scene.network.n_steps < 100);
}

TEST_CASE("a loop at every temperature leaves what it repeats, once, and is told as doubtful") {
  Clips scene(1, {0, 10});
  scene.options.sampling.temperatures = {0, 0.2};
  std::vector<int> loop = {scene.at(0)};
  const std::vector<int> once = scene.engine.tokenizer.encode(" Thank you.");
  while (loop.size() < 200) loop.insert(loop.end(), once.begin(), once.end());
  scene.network.script = {{.tokens = loop, .avg_log_prob = -1.1, .ends = false},
                          {.tokens = loop, .avg_log_prob = -1.1, .ends = false}};
  const Transcript transcript = scene.run(10 * kSecond);
  CHECK(transcript.text() == "Thank you.");
  CHECK(transcript.coverage.stretches.at(0).fate == Fate::low_confidence);
}

TEST_CASE("a stop hands on what is done, as far as there is no hole in it") {
  Clips scene(2, {0, 10, 10, 20, 20, 30});
  scene.network.script = {{scene.said(0, " One.", 9)}, {scene.said(0, " Two is not done yet when it ends here.", 9)},
                          {scene.said(0, " Three.", 9)}};
  scene.listener.stopped = [&] { return scene.network.n_steps >= 8; };
  const Transcript transcript = scene.run(30 * kSecond);
  CHECK(transcript.text() == "One.");
  CHECK(transcript.coverage.stretches.back().fate == Fate::skipped);
  CHECK(transcript.coverage.stretches.back().start_s == doctest::Approx(10));
  CHECK(scene.network.stopped);
}

TEST_CASE("sound without a pause is cut where it is quietest, and said once") {
  Scene scene(51864, 2);
  scene.options.mode = Mode::batched;
  std::vector<int16_t> sound = hum(40 * kSecond);
  for (int64_t i = 25 * kSecond - 800; i < 25 * kSecond + 800; ++i) sound[i] /= 8;
  // The windows are 0 to 26 s and 24 to 40 s; the word at 25 s is in both.
  scene.network.script = {{.tokens = scene.said(0, " One two", 26), .word_starts_s = {0, 24.6, 25.2}},
                          {.tokens = scene.said(0, " two three", 16), .word_starts_s = {0.6, 1.2, 15}}};
  const Transcript transcript = scene.run(sound);
  CHECK(transcript.text() == "One two three");
  REQUIRE(transcript.segments.size() == 2);
  CHECK(transcript.segments[1].seek == 2400);
  CHECK(transcript.segments[1].start_s == doctest::Approx(25.2));
  CHECK(transcript.segments[0].words.empty());  // nobody asked for them
}

TEST_CASE("no window holds nothing but silence, and times are those of the sound") {
  Scene scene(51864, 4);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  const auto talk = speech();
  const auto sound = and_then(and_then(silence(20 * kSecond), talk), and_then(silence(40 * kSecond), talk));
  scene.network.script = {{scene.said(1, " One has as many words as somebody would say.", 4)},
                          {scene.said(1, " Two has as many words as somebody would say.", 4)}};
  const Transcript transcript = scene.run(sound);
  CHECK(transcript.text() == "One has as many words as somebody would say. Two has as many words as somebody would say.");
  CHECK(scene.network.encoded_together == std::vector<int>{2});
  const double second_s = 60 + static_cast<double>(talk.size()) / kSecond;
  CHECK(transcript.segments.at(0).start_s >= 19.9);
  CHECK(transcript.segments.at(0).start_s < 20.7);
  CHECK(transcript.segments.at(1).start_s >= second_s - 0.1);
  CHECK(transcript.segments.at(1).end_s <= transcript.duration_s);
  CHECK(transcript.coverage.heard_s > 1);
  CHECK(transcript.coverage.lost_s == 0);
  CHECK(scene.network.script.empty());
}

TEST_CASE("silence is not decoded at all") {
  Scene scene(51864, 4);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  int told = 0;
  scene.listener.no_voice = [&](int) { ++told; };
  const Transcript transcript = scene.run(and_then(silence(50 * kSecond), hum(20 * kSecond)));
  CHECK(transcript.segments.empty());
  CHECK(scene.network.encoded.empty());
  CHECK(told == 1);
}

TEST_CASE("a sentence that the model leaves for the next window is written in this one") {
  Scene scene(51864, 1);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  const auto half = joined(scene.said(0, " He might", 1), {scene.at(1)});
  const auto rest = scene.engine.tokenizer.encode(" even have been made amiable himself.");
  scene.network.script = {{half}, {joined(rest, {scene.at(3)})}};
  const Transcript transcript = scene.run(speech());
  CHECK(transcript.text() == "He might even have been made amiable himself.");
  REQUIRE(scene.network.begun.size() == 2);
  CHECK(scene.network.encoded.size() == 1);
  CHECK(scene.network.begun[1].prompt == joined({scene.engine.tokenizer.special().sot}, half));
  CHECK(transcript.segments.back().end_s == doctest::Approx(3).epsilon(0.05));
  CHECK(transcript.coverage.heard_s > 1);
  CHECK(transcript.coverage.lost_s == 0);
}

TEST_CASE("the end of a sentence, however short, isn't lost: it is decoded again with what was said before it in mind") {
  Scene scene(51864, 1);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  scene.options.prompt.hotwords = "Willoughby";
  const auto talk = speech();
  const std::vector<int> first = scene.said(0, " He might even have been made amiable", 2.2);
  scene.network.script = {{first}, {scene.said(0, " himself.", 0.8)}};
  const Transcript transcript = scene.run(talk);
  CHECK(transcript.text() == "He might even have been made amiable himself.");
  REQUIRE(scene.network.begun.size() == 2);
  std::vector<int> prompt = joined({scene.engine.tokenizer.special().sot_prev}, scene.engine.tokenizer.encode(" Willoughby"));
  CHECK(scene.network.begun[1].prompt == joined(joined(prompt, first), {scene.engine.tokenizer.special().sot}));
  CHECK(transcript.segments.back().seek >= 210);  // where the text before it ends: nothing of that is heard again
  CHECK(transcript.segments.back().seek <= 230);
  CHECK(transcript.coverage.n_gaps == 0);
}

TEST_CASE("lost speech that repeats some of what was said before it has more to say") {
  Scene scene(51864, 1);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  scene.network.script = {{scene.said(0, " He might even have been", 1)},
                          {scene.said(0, " He might even have been amiable.", 2.3)}};
  CHECK(scene.run(speech()).text() == "He might even have been He might even have been amiable.");
}

TEST_CASE("where windows follow each other, too, text begins and ends where the voice does") {
  Scene scene(51864, 1);
  if (!listen(scene)) return;
  const auto talk = speech();
  const std::string text = " He might even have been made amiable himself.";
  const int n = static_cast<int>(scene.engine.tokenizer.encode(text).size());
  std::vector<double> starts_s;
  for (int i = 0; i <= n; ++i) starts_s.push_back(3.7 + 3.8 * i / n);
  scene.network.script = {{.tokens = scene.said(0, text, 8), .word_starts_s = starts_s}};
  const Transcript transcript = scene.run(and_then(and_then(silence(4 * kSecond), talk), silence(4 * kSecond)));
  CHECK(transcript.segments.at(0).start_s > 3.8);
  CHECK(transcript.segments.at(0).end_s < 4.2 + static_cast<double>(talk.size()) / kSecond);
}

TEST_CASE("as many windows side by side as an eighth of the memory holds, eight at most") {
  const Dims base{.width = 512, .heads = 8, .encoder_layers = 6, .decoder_layers = 6, .mel_bins = 80, .vocabulary = 51865};
  const Dims large{.width = 1280, .heads = 20, .encoder_layers = 32, .decoder_layers = 32, .mel_bins = 128,
                   .vocabulary = 51866};
  constexpr int64_t kGiB = int64_t{1} << 30;
  CHECK(windows_that_fit(base, 5, 8 * kGiB) == 8);
  CHECK(windows_that_fit(large, 5, 8 * kGiB) == 1);
  CHECK(windows_that_fit(large, 5, 32 * kGiB) == 3);
  CHECK(windows_that_fit(large, 1, 32 * kGiB) > 3);
  CHECK(windows_that_fit(large, 5, kGiB) == 1);
}

TEST_CASE("a tail that says again what was said isn't taken") {
  Scene scene(51864, 1);
  if (!listen(scene)) return;
  scene.options.mode = Mode::batched;
  for (const bool again : {true, false}) {
    const std::string tail = again ? " even so and he might even so and he might" : " even have";
    scene.network.script = {{joined(scene.said(0, " He might", 2), {scene.at(2)})}, {scene.engine.tokenizer.encode(tail)}};
    if (again) scene.network.script.push_back({scene.said(0, " he might.", 1)});
    CHECK(scene.run(speech()).text() == (again ? "He might" : "He might even have"));
    CHECK(scene.network.script.empty());
  }
}

TEST_CASE("speech that no text covers is decoded again from there, and if in vain, told") {
  for (const bool in_vain : {false, true}) {
    Scene scene(51864, 1);
    if (!listen(scene)) return;
    scene.options.mode = Mode::batched;
    scene.options.sampling.temperatures = {0};
    scene.network.script = {{scene.said(0, " He might", 1)}, {scene.said(0, " even have been.", 3), in_vain ? -1.5 : -0.2}};
    const Transcript transcript = scene.run(speech());
    CHECK(scene.network.script.empty());
    CHECK(transcript.text() == (in_vain ? "He might" : "He might even have been."));
    CHECK((transcript.coverage.n_gaps > 0) == in_vain);
    CHECK(transcript.segments.back().seek > (in_vain ? -1 : 20));
  }
}

TEST_CASE("a sentence that is missing under a segment's times is found by the words, and decoded at its own loudness") {
  for (const Mode mode : {Mode::batched, Mode::sequential}) {
    for (const bool in_vain : {false, true}) {
      CAPTURE(in_vain);
      Scene scene(51864, 1);
      if (!listen(scene)) return;
      scene.options.mode = mode;
      scene.options.sampling.temperatures = {0};
      const auto talk = speech();
      auto soft = talk;
      for (int16_t& sample : soft) sample = static_cast<int16_t>(sample / 100);
      const auto sound = and_then(and_then(soft, silence(kSecond)), talk);
      const double second_s = 1 + static_cast<double>(talk.size()) / kSecond;
      scene.network.script = {{.tokens = scene.said(0, " He might even", 7.5),
                               .word_starts_s = {second_s, second_s + 1.5, second_s + 2.2, second_s + 3}},
                              {scene.said(0, " It was said softly.", 3.8), in_vain ? -1.5 : -0.2}};
      const Transcript transcript = scene.run(sound);
      CHECK(transcript.text() == (in_vain ? "He might even" : "It was said softly. He might even"));
      CHECK((transcript.coverage.lost_s > 1) == in_vain);
      CHECK(transcript.segments.back().start_s > second_s - 0.3);
      CHECK(transcript.segments.back().words.empty());
      REQUIRE(scene.network.encoded.size() == 2);
      const auto range = [](const std::vector<float>& mel) {
        const auto sound_alone = std::span(mel).first(static_cast<size_t>(2 * 100 * 80));
        const auto [low, high] = std::ranges::minmax(sound_alone);
        return high - low;
      };
      CHECK(range(scene.network.encoded[0]) < 1.2);  // of the whole sound's 2, as it is 40 dB below the other sentence
      CHECK(range(scene.network.encoded[1]) > range(scene.network.encoded[0]) + 0.4);
    }
  }
}

TEST_CASE("text whose times end too early isn't decoded again: its words say where it ends") {
  for (const Mode mode : {Mode::batched, Mode::sequential}) {
    Scene scene(51864, 1);
    if (!listen(scene)) return;
    scene.options.mode = mode;
    scene.network.script = {{.tokens = scene.said(0, " He might even have been", 1),
                             .word_starts_s = {0.1, 0.6, 1.1, 1.6, 2.1, 3.1}}};
    const Transcript transcript = scene.run(speech());
    CHECK(transcript.text() == "He might even have been");
    CHECK(transcript.segments.at(0).end_s > 2.5);
    CHECK(transcript.coverage.n_gaps == 0);
  }
}

TEST_CASE("one window at once or sixteen, one thread or two: the same tokens") {
  const Dims dims{.width = 128, .heads = 2, .encoder_layers = 1, .decoder_layers = 1, .mel_bins = 80,
                  .vocabulary = 51864};
  const auto weights = test::synthetic_weights(dims);
  TemporaryFolder folder;
  const std::string path = folder.path() + "/sound.wav";
  write_wav(path, and_then(noise(40 * kSecond, 3000), and_then(hum(50 * kSecond), noise(30 * kSecond, 300))));
  TranscribeOptions options;
  options.mode = Mode::batched;
  options.sampling.beam_size = options.sampling.best_of = 2;
  options.sampling.temperatures = {0, 0.5};
  std::vector<int> first;
  for (const auto& [slots, threads] : {std::pair(1, 2), std::pair(16, 2), std::pair(3, 1)}) {
    CAPTURE(slots);
    Engine engine{weights, Tokenizer(dims.vocabulary),
                  open_network(weights, {.threads = threads, .slots = slots, .max_rows = 2, .precision = "f32"}), nullptr};
    const std::vector<int> tokens = tokens_of(transcribe(engine, {path, {}}, options, {}));
    if (first.empty()) first = tokens;
    CHECK(first.size() > 50);
    CHECK(tokens == first);
  }
}
