// What is said again and again: loops of the decoder are stopped and leave nothing, what somebody repeats is kept.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scene.h"

using namespace sotto;

namespace {

std::string times(const std::string& what, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += what;
  return all;
}

// A loop that only the limit of tokens would end.
Scripted endless(const Scene& scene, const std::string& what) {
  Scripted loop{.tokens = scene.said(0, times(what, 60), 9), .ends = false};
  loop.tokens.pop_back();
  return loop;
}

}  // namespace

TEST_CASE("with one temperature, too, a loop is stopped, and leaves what it repeats once") {
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    Scene scene;
    scene.options.mode = mode;
    scene.options.sampling.temperatures = {0};
    scene.network.script = {endless(scene, " Thank you."), endless(scene, " Thank you.")};
    const Transcript transcript = scene.run(10 * kSecond);
    CHECK(transcript.text() == "Thank you.");
    CHECK(transcript.coverage.stretches.at(0).fate == Fate::low_confidence);
    CHECK(scene.network.stopped);
  }
}

TEST_CASE("where the reference's loop is asked for, its text is kept as it is") {
  Scene scene;
  scene.options.voice_activity = false;
  scene.options.sampling.temperatures = {0};
  scene.network.script = {endless(scene, " Thank you.")};
  CHECK(scene.run(10 * kSecond).text().size() > 300);
  CHECK(!scene.network.stopped);
}

TEST_CASE("what two temperatures, well apart, repeat alike was said") {
  const std::string six = times(" six,", 29) + " six.";
  for (const Mode mode : {Mode::sequential, Mode::batched}) {
    for (const bool stopped : {false, true}) {  // the first attempt, taken for a loop
      CAPTURE(stopped);
      Scene scene;
      scene.options.mode = mode;
      scene.network.script = {{scene.said(0, six, 28)}, {scene.said(0, six, 27)}, {scene.said(0, six, 26)}};
      scene.network.script[0].ends = !stopped;
      const Transcript transcript = scene.run(29 * kSecond);
      CHECK(transcript.text() == six.substr(1));
      REQUIRE(scene.network.begun.size() == 3);
      CHECK(scene.network.begun[2].settings.temperature == doctest::Approx(0.4));
      CHECK(transcript.segments.at(0).temperature == doctest::Approx(stopped ? 0.2 : 0));
      CHECK(transcript.segments.at(0).end_s == doctest::Approx(stopped ? 27 : 28));
    }
  }
}

TEST_CASE("what one temperature alone repeats was not") {
  Scene scene;
  scene.network.script = {{scene.said(0, times(" six,", 30), 28)}, {scene.said(0, times(" six,", 30), 28)},
                          {scene.said(0, times(" seven,", 30), 28)}, {scene.said(0, " Something else.", 28)}};
  CHECK(scene.run(29 * kSecond).text() == "Something else.");
}

TEST_CASE("a repetition faster than anybody speaks isn't believed, whoever agrees") {
  Scene scene;
  scene.options.sampling.temperatures = {0, 0.5};
  scene.network.script = {endless(scene, " six"), endless(scene, " six")};
  CHECK(scene.run(3 * kSecond).text() == "six");
}

TEST_CASE("more than can be said in what is left of the sound isn't written; without the text before it, what was said is") {
  for (const bool heard : {true, false}) {
    Scene scene;
    scene.options.sampling.temperatures = {0, 0.5};
    const std::vector<int> made_up = scene.said(0, " The text before it, said once more.", 0.4);
    scene.network.script = {{scene.said(0, " One.", 30)}, {made_up}};
    for (int i = 0; i < 2; ++i) scene.network.script.push_back({heard ? scene.said(0, " Two.", 0.4) : made_up});
    CHECK(scene.run(30 * kSecond + kSecond / 2).text() == (heard ? "One. Two." : "One."));
    REQUIRE(scene.network.begun.size() >= 3);
    CHECK(scene.network.begun[1].prompt.size() > 1);
    CHECK(scene.network.begun[2].prompt == std::vector<int>{scene.engine.tokenizer.special().sot});
    CHECK(scene.network.begun[2].settings.temperature == 0);
  }
}

TEST_CASE("where the reference's loop is asked for, too much text for its sound is kept as well") {
  Scene scene;
  scene.options.voice_activity = false;
  scene.network.script = {{scene.said(0, " The text before it, said once more.", 0.4)}};
  CHECK(scene.run(kSecond / 2).text() == "The text before it, said once more.");
}

TEST_CASE("text behind the end of the sound isn't written") {
  Scene scene;
  std::vector<int> tokens = scene.said(0, " One.", 10);
  const std::vector<int> behind = scene.said(12, " Two.", 14);
  tokens.insert(tokens.end(), behind.begin(), behind.end());
  scene.network.script = {{tokens}};
  CHECK(scene.run(10 * kSecond).text() == "One.");
}

TEST_CASE("a loop is tried again without the text before it, at the same temperature") {
  Scene scene;
  scene.network.script = {{scene.said(0, " One.", 30)}, endless(scene, " Thank you."), {scene.said(0, " Two.", 10)}};
  CHECK(scene.run(40 * kSecond).text() == "One. Two.");
  REQUIRE(scene.network.begun.size() == 3);
  CHECK(scene.network.begun[1].prompt.size() > 1);
  CHECK(scene.network.begun[2].prompt == std::vector<int>{scene.engine.tokenizer.special().sot});
  CHECK(scene.network.begun[2].settings.temperature == 0);
}
