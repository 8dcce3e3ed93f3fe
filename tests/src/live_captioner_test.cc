#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "live_network.h"
#include "models/languages.h"

namespace sotto {
namespace {

TEST_CASE("words are committed once, in their order, while a speaker goes on") {
  LiveScene scene;
  scene.speak(1, 45);
  scene.hear_until(19);
  CHECK(scene.text().starts_with(scene.output.committed));
  CHECK(scene.output.committed.size() > scene.text().size() * 9 / 10);
  scene.hear_until(21);
  CHECK(scene.output.committed == scene.text());
  CHECK(scene.output.updates.back().ends_utterance);
  CHECK(scene.output.updates.back().tail.empty());
  double last_s = 0;
  for (const CaptionUpdate& update : scene.output.updates)
    for (const Word& word : update.committed) {
      CHECK(word.start_s >= last_s);
      CHECK(word.end_s > word.start_s);
      last_s = word.end_s;
    }
}

TEST_CASE("every word takes time, also where several are looked at at once, or at the end of all sound") {
  LiveScene scene;
  scene.speak(1, 12, 0.012);
  scene.speak(4, 5, 0.012);
  scene.hear_until(4.2);
  scene.captioner().finish();
  double last_s = 0;
  int n = 0;
  for (const CaptionUpdate& update : scene.output.updates)
    for (const Word& word : update.committed) {
      ++n;
      CHECK(word.start_s >= last_s);
      CHECK(word.end_s > word.start_s + 0.01);
      last_s = word.end_s;
    }
  CHECK(n >= 12);
}

TEST_CASE("a word that isn't all there is shown, and not committed") {
  LiveScene scene;
  scene.speak(1, 20);
  scene.hear_until(8);
  int n_guesses = 0;
  for (const CaptionUpdate& update : scene.output.updates) {
    for (const Word& word : update.committed) CHECK(word.text.find("hm") == std::string::npos);
    for (const Word& word : update.tail) n_guesses += word.text.find("hm") != std::string::npos;
  }
  CHECK(n_guesses > 5);
}

TEST_CASE("silence gives nothing, and nothing is encoded in it") {
  LiveScene scene;
  scene.hear_until(40);
  CHECK(scene.network().n_encoded == 0);
  CHECK(scene.output.updates.empty());

  scene.speak(40, 10);
  scene.hear_until(46);
  CHECK(scene.output.committed == scene.text());
  const int n_encoded = scene.network().n_encoded;
  scene.hear_until(86);
  CHECK(scene.network().n_encoded == n_encoded);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("a word too short to be taken for a voice is part of what is said soon after it") {
  LiveScene scene;
  scene.network().spoken.push_back({" ship", 0.1, 0.17});
  scene.hear_until(2.4);
  CHECK(scene.network().n_encoded == 0);
  scene.speak(2.4, 10);
  scene.hear_until(8);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("what was said is heard again after a short pause, and no context after a long one") {
  LiveScene scene;
  const int sot_prev = scene.engine.tokenizer.special().sot_prev;
  scene.speak(1, 10);
  scene.speak(8, 10);
  scene.speak(52, 10);
  scene.hear_until(6);
  const int n_encoded = scene.network().n_encoded;
  const std::vector<int> first = scene.engine.tokenizer.encode(scene.output.committed);
  scene.hear_until(8);
  CHECK(scene.network().n_encoded == n_encoded);  // a pause costs nothing all the same
  scene.hear_until(13);
  CHECK(scene.network().first_s() < 1);
  CHECK(!std::ranges::search(scene.network().prompts.back(), first).empty());
  scene.hear_until(57.5);
  CHECK(scene.network().first_s() > 48);
  CHECK(scene.network().prompts.back().front() != sot_prev);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("a window keeps sound of before, whatever pauses there are") {
  LiveScene scene;
  for (int i = 0; i < 30; ++i) scene.speak(1 + i * 6.5, 10);  // 4 s each
  double least_s = 30;
  for (double at_s = 30; at_s < 195; at_s += 0.5) {
    scene.hear_until(at_s);
    least_s = std::min(least_s, at_s - scene.network().first_s());
  }
  CHECK(least_s > 4.9);
  CHECK(scene.network().most_frames < 2900);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("marks at the end of the sound are neither waited for nor committed before it is known what follows") {
  LiveScene scene;
  scene.speak(1, 25);
  scene.hear_until(9);
  const size_t without = scene.output.committed.size();
  LiveScene marked;
  marked.network().trail = ".";
  marked.speak(1, 25);
  marked.hear_until(9);
  CHECK(marked.output.committed.size() == without);
  CHECK(marked.output.committed.find('.') == std::string::npos);
  CHECK(marked.output.updates.back().tail.back().text.ends_with("."));
  marked.hear_until(13);
  CHECK(marked.output.committed == marked.text() + ".");
}

TEST_CASE("beams decide about words in doubt, and only then") {
  LiveScene sure;
  sure.network().n_rows = 5;
  sure.speak(1, 25);
  sure.hear_until(13);
  CHECK(sure.network().n_beam_passes == 0);
  CHECK(sure.output.committed == sure.text());

  LiveScene scene;
  scene.network().n_rows = 5;
  scene.network().misheard = " green";
  scene.speak(1, 50);
  scene.hear_until(18);
  CHECK(scene.network().n_beam_passes > 2);
  CHECK(scene.network().n_beam_passes < scene.captioner().n_passes() / 3);
  CHECK(scene.output.committed.find(" green") != std::string::npos);
  CHECK(scene.text().starts_with(scene.output.committed));
}

TEST_CASE("a text doesn't trail off where the sound does") {
  LiveScene scene;
  scene.network().trail = "...";
  scene.speak(1, 25);
  scene.hear_until(13);
  for (const CaptionUpdate& update : scene.output.updates)
    for (const Word& word : update.tail) CHECK(word.text.find("..") == std::string::npos);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("a word is as sure, and as far from the end, as what is spoken of it") {
  const Tokenizer tokenizer(51864);
  const auto token = [&](const char* text) { return tokenizer.encode(text).front(); };
  Guess guess;
  guess.tokens = {{token(","), 1499, -2}, {token(" we"), 50, -0.1f}, {token(" sail"), 70, -0.2f}, {token("."), 1498, -3}};
  std::vector<GuessedWord> words = words_of(guess, tokenizer, "en");
  REQUIRE(words.size() == 3);
  CHECK(words[0].text == ",");
  CHECK(words[0].last_frame == 0);
  CHECK(words[0].least_probability == 1);
  CHECK(words[2].text == " sail.");
  CHECK(words[2].first_frame == 70);
  CHECK(words[2].last_frame == 70);
  CHECK(words[2].probability == doctest::Approx(std::exp(-0.2)));
  part_from_marks(words, 2, tokenizer);
  REQUIRE(words.size() == 4);
  CHECK(words[2].text == " sail");
  CHECK(words[3].text == ".");
  part_from_marks(words, 3, tokenizer);
  part_from_marks(words, 1, tokenizer);
  CHECK(words.size() == 4);
  CHECK_FALSE(is_mark(token(" um"), tokenizer));
  CHECK_FALSE(is_mark(token("%"), tokenizer));
}

TEST_CASE("hotwords stand before every pass, whatever was forgotten") {
  LiveScene scene;
  scene.options.text.prompt.hotwords = "Sauron";
  const std::vector<int> hotword = scene.engine.tokenizer.encode(" Sauron");
  scene.speak(1, 10);
  scene.speak(30, 10);
  scene.hear_until(36);
  for (const std::vector<int>& prompt : scene.network().prompts)
    CHECK(std::ranges::search(prompt, hotword).begin() == prompt.begin() + 1);
}

TEST_CASE("a loop is committed neither while it goes on nor at its end") {
  LiveScene scene;
  scene.network().loop = " and so";
  scene.speak(1, 30);
  scene.hear_until(16);
  CHECK(scene.output.committed.find(" and so and so and so and so") == std::string::npos);

  scene.network().loop.clear();  // the decoder finds its way back
  const size_t before = scene.network().spoken.size();
  scene.speak(20, 20);
  scene.hear_until(30);
  std::string later;
  for (size_t i = before; i < scene.network().spoken.size(); ++i) later += scene.network().spoken[i].text;
  CHECK(scene.output.committed.ends_with(later));
}

TEST_CASE("a machine that falls behind skips passes, loses nothing, and says so") {
  LiveScene scene;
  scene.waiting = [] { return 3.5; };
  scene.speak(1, 100);
  scene.hear_until(43, 4);
  CHECK(scene.captioner().n_passes() <= 14);
  CHECK(scene.output.committed == scene.text());
  CHECK(scene.output.updates.front().behind_s == 3.5);
}

TEST_CASE("sound that comes all at once is taken in windows of less than 30 s") {
  LiveScene scene;
  scene.speak(1, 250);
  scene.hear_until(103, 103);
  CHECK(scene.network().most_frames < 2900);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("a speaker without a pause for minutes") {
  LiveScene scene;
  scene.speak(1, 450);
  scene.hear_until(182);
  scene.captioner().finish();
  CHECK(scene.network().most_frames < 2900);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("a decoder that ends although somebody speaks is asked again") {
  LiveScene scene;
  scene.network().shy = true;
  scene.speak(1, 20);
  scene.hear_until(12);
  CHECK(scene.output.committed == scene.text());
}

TEST_CASE("the last words are said at the end, also in the middle of an utterance") {
  LiveScene scene;
  scene.speak(1, 10);
  scene.hear_until(5.1);
  CHECK(scene.output.committed != scene.text());
  scene.captioner().finish();
  CHECK(scene.output.committed == scene.text());
  CHECK(scene.output.updates.back().tail.empty());
}

TEST_CASE("what is committed, and when, depends on the sound and not on when the machine has time for it") {
  const auto heard = [](double piece_s) {
    LiveScene scene;
    scene.speak(1, 40);
    scene.hear_until(20, piece_s);
    std::vector<std::pair<double, std::string>> all;
    for (const CaptionUpdate& update : scene.output.updates) {
      all.emplace_back(update.heard_s, "");
      for (const Word& word : update.committed) all.back().second += word.text;
    }
    CHECK(scene.output.committed == scene.text());
    return all;
  };
  const auto at_once = heard(0.02);
  CHECK(at_once.size() > 30);
  CHECK(at_once.size() <= 19 / 0.32 + 2);  // a pass needs sound that is new
  for (const double piece_s : {0.1, 0.17, 0.3}) CHECK(heard(piece_s) == at_once);
}

std::vector<float> mostly(const std::string& code) {
  std::vector<float> log_probs(99, -9.0f);
  for (size_t i = 0; i < log_probs.size(); ++i)
    if (languages()[i].code == code) log_probs[i] = -0.01f;
  return log_probs;
}

TEST_CASE("the language is detected, kept, and listened for anew after a pause") {
  LiveScene scene(51865);
  scene.network().languages = mostly("de");
  scene.speak(1, 15);
  scene.hear_until(5);
  CHECK(scene.output.updates.back().language == "de");
  scene.network().languages = mostly("fr");
  scene.hear_until(8);
  CHECK(scene.output.updates.back().language == "de");

  scene.speak(12, 20);
  scene.hear_until(22);
  CHECK(scene.output.updates.back().language == "fr");
  CHECK(scene.output.committed == scene.text());
  CHECK(scene.network().prompts.back().front() == scene.engine.tokenizer.special().sot);  // no German before French
}

TEST_CASE("a language that was named is not looked for") {
  LiveScene scene(51865);
  scene.options.text.language = "nl";
  scene.speak(1, 15);
  scene.hear_until(9);
  CHECK(scene.output.updates.back().language == "nl");
  const int token = scene.engine.tokenizer.language_token("nl");
  for (const std::vector<int>& prompt : scene.network().prompts) CHECK(std::ranges::count(prompt, token) == 1);
}

TEST_CASE("what is committed: said for a while, or far enough from the end of the sound") {
  const auto said = [](std::vector<std::pair<std::string, int>> pairs) {
    std::vector<GuessedWord> words;
    for (const auto& [text, frame] : pairs) words.push_back({text, {1}, frame, frame, 1});
    return words;
  };
  const CommitRules rules{.margin_ms = 300, .stable_ms = 500, .doubt_ms = 1000, .probable = 0.7f, .sure_ms = 1000};
  std::vector<GuessedWord> words = said({{" a", 10}, {" b", 60}, {" c", 80}, {" d", 95}});
  compare_with({}, 2.0, words);
  CHECK(committable(words, false, 100, 2.0, rules) == 1);
  CHECK(committable(words, false, 100, 2.4, rules) == 1);
  CHECK(committable(words, false, 100, 2.5, rules) == 3);
  CHECK(committable(words, true, 100, 2.5, rules) == 3);
  CHECK(committable(words, true, 120, 2.5, rules) == 4);
  CHECK(committable(words, false, 120, 2.5, rules) == 3);  // the last may go on
  CHECK(committable({}, true, 100, 2.5, rules) == 0);

  words[1].least_probability = 0.5f;
  CHECK(committable(words, false, 100, 2.9, rules) == 1);  // in doubt, and all behind it has to wait
  CHECK(committable(words, false, 100, 3.0, rules) == 3);

  std::vector<GuessedWord> number = said({{" in", 10}, {" 2020", 60}, {" we", 80}, {" d", 95}});
  compare_with({}, 2.0, number);
  CHECK(committable(number, false, 100, 2.9, rules) == 1);  // it may be 2021
  CHECK(committable(number, false, 100, 3.0, rules) == 3);

  std::vector<GuessedWord> marked = said({{" A,", 10}, {" b", 60}, {" c.", 80}, {" d", 95}});
  compare_with(words, 2.5, marked);
  CHECK(committable(marked, false, 100, 2.5, rules) == 3);  // marks make no difference
  std::vector<GuessedWord> other = said({{" a", 10}, {" x", 60}, {" c", 80}, {" d", 95}});
  compare_with(words, 2.5, other);
  CHECK(committable(other, false, 100, 2.5, rules) == 1);  // nothing behind a disagreement is agreed on
}

TEST_CASE("a gate opens for a voice of some length, and closes after a pause") {
  SpeechGate gate({});
  const auto push = [&](float probability, int n) {
    SpeechGate::Event event = SpeechGate::Event::none;
    for (int i = 0; i < n; ++i)
      if (const auto now = gate.push(probability); now != SpeechGate::Event::none) event = now;
    return event;
  };
  CHECK(push(0.1f, 10) == SpeechGate::Event::none);
  CHECK(push(0.9f, 2) == SpeechGate::Event::none);
  CHECK(push(0.1f, 1) == SpeechGate::Event::none);
  CHECK(push(0.9f, 3) == SpeechGate::Event::onset);
  CHECK(gate.onset() == 13 * kVadChunk);
  CHECK(push(0.1f, 10) == SpeechGate::Event::none);
  CHECK(push(0.4f, 1) == SpeechGate::Event::none);  // neither voice nor silence: it goes on
  CHECK(push(0.1f, 14) == SpeechGate::Event::none);
  CHECK(push(0.1f, 1) == SpeechGate::Event::pause);
  CHECK(gate.voice_end() == 27 * kVadChunk);
  CHECK_FALSE(gate.speaking());
}

}  // namespace
}  // namespace sotto
