// The way through one file, window after window, with a network that gives what the test wants.
#include "src/transcribe.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/error.h"
#include "scene.h"

using namespace sotto;

TEST_CASE("windows follow each other, and each knows the text before it") {
  Scene scene;
  const auto one = scene.said(0, " One.", 12), two = scene.said(12, " Two.", 20), three = scene.said(0, " Three.", 5);
  scene.network.script = {{joined(one, joined(two, {scene.at(20)}))}, {three}};
  const Transcript transcript = scene.run(40 * kSecond);

  REQUIRE(transcript.segments.size() == 3);
  CHECK(transcript.text() == "One. Two. Three.");
  CHECK(transcript.segments[1].id == 1);
  CHECK(transcript.segments[1].start_s == doctest::Approx(12));
  CHECK(transcript.segments[2].seek == 2000);
  CHECK(transcript.segments[2].start_s == doctest::Approx(20));
  CHECK(transcript.segments[2].end_s == doctest::Approx(25));
  CHECK(transcript.segments[2].avg_log_prob == doctest::Approx(-0.2));
  CHECK(transcript.duration_s == doctest::Approx(40));
  CHECK(transcript.language == "en");
  CHECK(transcript.model == "script");
  CHECK(scene.heard.size() == 3);

  const SpecialTokens& special = scene.engine.tokenizer.special();
  REQUIRE(scene.network.begun.size() == 2);
  CHECK(scene.network.begun[0].prompt == std::vector<int>{special.sot});
  CHECK(scene.network.begun[1].prompt == joined(joined({special.sot_prev}, joined(one, two)), {special.sot}));
}

TEST_CASE("without conditioning no window knows another, and the initial prompt is for the first alone") {
  Scene scene;
  scene.options.prompt.condition_on_previous_text = false;
  scene.options.prompt.initial = " names ";
  scene.network.script = {{scene.said(0, " One.", 5)}, {scene.said(0, " Two.", 5)}};
  scene.run(40 * kSecond);
  const SpecialTokens& special = scene.engine.tokenizer.special();
  CHECK(scene.network.begun[0].prompt ==
        joined(joined({special.sot_prev}, scene.engine.tokenizer.encode(" names")), {special.sot}));
  CHECK(scene.network.begun[1].prompt == std::vector<int>{special.sot});
}

TEST_CASE("a failed decoding is tried again at rising temperatures, with the same prompt and a key of its own") {
  Scene scene;
  scene.options.sampling.beam_size = 3;
  scene.options.sampling.best_of = 4;
  scene.options.sampling.patience = 2;
  scene.options.prompt.initial = "names";
  std::string loop;
  for (int i = 0; i < 30; ++i) loop += " six";
  scene.network.script = {{scene.said(0, " Hm.", 2), -1.5}, {scene.said(0, loop, 2)}, {scene.said(0, " Good.", 2)}};
  const Transcript transcript = scene.run(5 * kSecond);

  CHECK(transcript.text() == "Good.");
  CHECK(transcript.segments[0].temperature == doctest::Approx(0.4));
  const auto& begun = scene.network.begun;
  REQUIRE(begun.size() == 3);
  CHECK(begun[0].settings.rows == 3);
  CHECK(begun[0].settings.patience == 2);
  CHECK(begun[1].settings.rows == 4);
  CHECK(begun[1].settings.temperature == doctest::Approx(0.2));
  CHECK(begun[1].prompt == begun[0].prompt);
  CHECK(begun[2].settings.sample_key != begun[1].settings.sample_key);
  CHECK(scene.network.encoded.size() == 1);
}

TEST_CASE("if all temperatures fail the most probable text is taken, and is no prompt") {
  Scene scene;
  for (int i = 0; i < 6; ++i)
    scene.network.script.push_back({scene.said(0, " Try " + std::to_string(i), 2), i == 1 ? -1.2 : -1.5});
  scene.network.script.push_back({scene.said(0, " Next.", 2)});
  const Transcript transcript = scene.run(40 * kSecond);
  CHECK(transcript.segments[0].text == " Try 1");
  CHECK(transcript.segments[0].temperature == doctest::Approx(0.2));
  CHECK(scene.network.begun.back().prompt.size() == 1);
}

TEST_CASE("a silent window is passed over, and the prompt stays") {
  Scene scene;
  scene.network.script = {{scene.said(0, " One.", 5)}, {scene.said(0, " Thanks.", 5), -1.5, 0.9},
                          {scene.said(0, " Two.", 5)}};
  const Transcript transcript = scene.run(70 * kSecond);
  CHECK(transcript.text() == "One. Two.");
  CHECK(transcript.segments[1].seek == 6000);
  CHECK(scene.network.begun[2].prompt.size() > 1);
  CHECK(scene.network.begun[1].prompt == scene.network.begun[2].prompt);
}

TEST_CASE("sound of exactly 30 s is one window, and no time passes its end") {
  for (const int64_t n : {479999, 480000, 480001, 480159}) {
    CAPTURE(n);
    Scene scene;
    scene.network.script = {{scene.said(0, " All.", 30)}};
    const Transcript transcript = scene.run(n);
    CHECK(scene.network.script.empty());
    REQUIRE(transcript.segments.size() == 1);
    CHECK(transcript.segments[0].end_s <= transcript.duration_s);
    CHECK(transcript.duration_s == doctest::Approx(n / 16000.0));
  }
}

TEST_CASE("sound without samples gives an empty transcript") {
  Scene scene(51865);
  const Transcript transcript = scene.run(0);
  CHECK(transcript.segments.empty());
  CHECK(transcript.language == "unknown");
  CHECK(transcript.duration_s == 0);
}

TEST_CASE("one sample is enough for a window") {
  Scene scene;
  scene.network.script = {{scene.said(0, " Yes.", 1)}};
  const Transcript transcript = scene.run(1);
  REQUIRE(transcript.segments.size() == 1);
  CHECK(transcript.segments[0].end_s <= transcript.duration_s);
}

TEST_CASE("clips are decoded at their own times; behind the end there is nothing but a warning") {
  Scene scene;
  scene.options.clip_timestamps = {10, 14, 20};
  scene.network.script = {{scene.said(0, " One.", 4)}, {scene.said(0, " Two.", 4)}};
  const Transcript transcript = scene.run(30 * kSecond);
  REQUIRE(transcript.segments.size() == 2);
  CHECK(transcript.segments[0].start_s == doctest::Approx(10));
  CHECK(transcript.segments[1].start_s == doctest::Approx(20));
  CHECK(scene.warnings.empty());

  Scene behind;
  behind.options.clip_timestamps = {31};
  CHECK(behind.run(30 * kSecond).segments.empty());
  CHECK(behind.warnings.size() == 1);
}

TEST_CASE("the language is detected once, in the first 30 s of what is wanted, and becomes part of the prompt") {
  Scene scene(51865);
  scene.network.languages.assign(99, -9);
  scene.network.languages[2] = -0.1;
  scene.options.clip_timestamps = {31};
  std::string detected;
  scene.listener.detected_language = [&](const HeardLanguage& language) { detected = language.code; };
  scene.network.script = {{scene.said(0, " Eins.", 5)}, {scene.said(0, " Zwei.", 5)}};
  const Transcript transcript = scene.run(70 * kSecond);
  CHECK(transcript.language == "de");
  CHECK(detected == "de");
  CHECK(scene.network.n_languages_asked == 1);
  CHECK(scene.network.encoded.size() == 2);
  const SpecialTokens& special = scene.engine.tokenizer.special();
  CHECK(scene.network.begun[0].prompt == std::vector<int>{special.sot, special.sot + 3, special.transcribe});
}

TEST_CASE("a first window that was listened to for its language isn't encoded again") {
  Scene scene(51865);
  scene.network.languages.assign(99, -9);
  scene.network.script = {{scene.said(0, " One.", 5)}, {scene.said(0, " Two.", 5)}};
  scene.run(40 * kSecond);
  CHECK(scene.network.encoded.size() == 2);
}

TEST_CASE("behind a short sound there is silence for the language, and nothing for the transcript") {
  Scene scene(51865);
  scene.network.languages.assign(99, -9);
  scene.network.script = {{scene.said(0, " One.", 5)}};
  scene.run(5 * kSecond);
  REQUIRE(scene.network.encoded.size() == 2);
  const auto& for_language = scene.network.encoded[0];
  const float loudest = *std::max_element(for_language.begin(), for_language.end());
  CHECK(for_language.back() == doctest::Approx(loudest - 2));
  CHECK(scene.network.encoded[1].back() == 0);
}

TEST_CASE("behind digital silence there is the same silence") {
  Scene scene(51865);
  scene.network.languages.assign(99, -9);
  scene.network.script = {{scene.said(0, " One.", 1), -2, 0.9}};
  const std::string path = scene.folder.path() + "/silence.wav";
  write_wav(path, silence(kSecond));
  transcribe(scene.engine, {path, {}}, scene.options, scene.listener);
  const auto& for_language = scene.network.encoded.at(0);
  CHECK(for_language.back() == doctest::Approx(for_language.front()));
}

TEST_CASE("a long initial prompt is cut to its last 223 tokens, with a warning") {
  Scene scene;
  std::string prompt = "<|endoftext|>";
  for (int i = 0; i < 600; ++i) prompt += " word";
  scene.options.prompt.initial = prompt;
  scene.options.prompt.carry_initial = true;
  scene.network.script = {{scene.said(0, " One.", 5)}, {scene.said(0, " Two.", 5)}};
  scene.run(40 * kSecond);
  for (const auto& begun : scene.network.begun) {
    CHECK(begun.prompt.size() == 1 + 223 + 1);
    CHECK(std::count(begun.prompt.begin(), begun.prompt.end(), scene.engine.tokenizer.special().eot) == 0);
  }
  CHECK(scene.warnings.size() == 1);
}

TEST_CASE("a stop gives up the window it comes in, and what was before it stays") {
  Scene scene;
  scene.network.script = {{scene.said(0, " One.", 5)}, {scene.said(0, " Two.", 5)}};
  scene.listener.stopped = [&] { return scene.network.begun.size() == 2; };
  const Transcript transcript = scene.run(70 * kSecond);
  CHECK(transcript.text() == "One.");
  CHECK(scene.network.stopped);
}

TEST_CASE("what can't be is said before anything is decoded") {
  Scene language(51865);
  language.options.language = "yue";
  CHECK_THROWS_AS(language.run(kSecond), Error);
  Scene tokens;
  tokens.options.sampling.suppress_tokens = "51864";
  CHECK_THROWS_AS(tokens.run(kSecond), Error);
  Scene missing;
  CHECK_THROWS_AS(transcribe(missing.engine, {missing.folder.path() + "/none.wav", {}}, {}, {}), Error);
}

TEST_CASE("with word timestamps segments end with their words, and the next window begins there") {
  Scene scene;
  scene.options.words.timestamps = true;
  const auto one = scene.said(0.2, " One two", 4), three = scene.said(0, " Three", 3);
  scene.network.script = {{.tokens = joined(one, {scene.at(4)}), .word_starts_s = {0, 0.9, 1.3}},
                          {.tokens = three, .word_starts_s = {0, 0.7}}};
  const Transcript transcript = scene.run(5 * kSecond);

  REQUIRE(transcript.segments.size() == 2);
  const Segment& first = transcript.segments[0];
  CHECK(first.start_s == 0);
  CHECK(first.end_s == doctest::Approx(1.3));
  REQUIRE(first.words.size() == 2);
  CHECK(first.words[1].text == " two");
  CHECK(first.words[1].start_s == doctest::Approx(0.9));
  CHECK(first.words[1].probability == 0.9f);
  CHECK(transcript.segments[1].seek == 130);
  CHECK(transcript.segments[1].words.at(0).end_s == doctest::Approx(2.0));
  CHECK(scene.heard[0].words.size() == 2);
}

TEST_CASE("without word timestamps there is no pass for them, and no words") {
  Scene scene;
  scene.network.script = {{scene.said(0, " One", 4)}};
  CHECK(scene.run(5 * kSecond).segments.at(0).words.empty());
  CHECK(scene.network.aligned.empty());
}

TEST_CASE("words of a translation are split at spaces, whatever the language of the speech") {
  Scene scene(51865);
  scene.options.words.timestamps = true;
  scene.options.language = "zh";
  const std::string text = " antidisestablishmentarianism";
  const size_t n = scene.engine.tokenizer.encode(text).size();
  REQUIRE(n > 1);
  std::vector<double> starts_s;
  for (size_t i = 0; i <= n; ++i) starts_s.push_back(0.2 * static_cast<double>(i));
  for (const bool translate : {true, false}) {
    scene.options.translate = translate;
    scene.network.script = {{.tokens = scene.said(0, text, 2), .word_starts_s = starts_s}};
    CHECK(scene.run(3 * kSecond).segments.at(0).words.size() == (translate ? 1 : n));
  }
}

TEST_CASE("text that looks made up in silence is skipped, with the silence") {
  Scene scene;
  scene.options.words.timestamps = true;
  scene.options.words.hallucination_silence_threshold = 2;
  const auto thanks = scene.said(0, " Thanks", 9), real = scene.said(0, " Hello", 2);
  scene.network.script = {{.tokens = thanks, .word_starts_s = {0, 5.4}, .token_prob = 0.1f},
                          {.tokens = real, .word_starts_s = {0, 1.5}}};
  const Transcript transcript = scene.run(10 * kSecond);
  CHECK(transcript.text() == "Hello");
  CHECK(transcript.segments.at(0).seek == 400);  // where the word begins once the pause before it is taken off
  const SpecialTokens& special = scene.engine.tokenizer.special();
  CHECK(scene.network.begun[1].prompt == std::vector<int>{special.sot});  // what was dropped is no prompt
}
