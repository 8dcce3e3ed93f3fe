#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live_network.h"
#include "models/error.h"
#include "src/live/evaluate.h"
#include "src/live/live.h"
#include "src/live/meter.h"
#include "src/live/reference.h"
#include "src/live/score.h"
#include "temporary.h"
#include "wav.h"

namespace sotto {
namespace {

// Stands still until somebody waits or takes his time.
class StoppedClock : public Clock {
 public:
  double now_s() const override { return now_; }
  void wait_until(double time_s) override {
    if (time_s <= now_) return;
    waited_ += time_s - now_;
    now_ = time_s;
  }
  double waited_s() const override { return waited_; }
  void work(double s) { now_ += s; }

 private:
  double now_ = 0, waited_ = 0;
};

// An output that takes its time before it shows anything.
class SlowOutput : public Kept {
 public:
  SlowOutput(StoppedClock& clock, double delay_s) : clock_(clock), delay_s_(delay_s) {}
  void update(const CaptionUpdate& update) override {
    clock_.work(delay_s_);
    Kept::update(update);
  }

 private:
  StoppedClock& clock_;
  double delay_s_;
};

CaptionUpdate update_of(const std::vector<Word>& committed, const std::vector<Word>& tail = {}) {
  return {.committed = committed, .tail = tail};
}

TEST_CASE("words are compared without what nobody hears") {
  using Words = std::vector<std::string>;
  CHECK(plain_words(" Well, um, it's the ÉCOLE'S \"well-known\" 3rd.") ==
        Words{"well", "it's", "the", "école's", "well", "known", "3rd"});
  CHECK(plain_words(" 'tis rock ’n’ roll’ …") == Words{"tis", "rock", "n", "roll"});
  CHECK(plain_words("uh, hmm.").empty());
}

TEST_CASE("the difference of two texts is the fewest edits") {
  const auto edits = [](const char* a, const char* b) { return difference(plain_words(a), plain_words(b)).n_edits; };
  CHECK(edits("a b c d", "a b c d") == 0);
  CHECK(edits("a b c d", "a x c") == 2);
  CHECK(edits("a b", "") == 2);
  CHECK(edits("", "a b c") == 3);
  CHECK(edits("b a b c", "a b c b") == 2);
  const auto equal = difference(plain_words("a b c d"), plain_words("b c e d")).equal;
  CHECK(equal == std::vector<std::pair<int, int>>{{1, 0}, {2, 1}, {3, 3}});
}

TEST_CASE("the meter tells when words came up, were committed, and were taken back") {
  StoppedClock clock;
  Kept shown;
  Meter meter(shown, clock);
  clock.work(1);
  meter.update(update_of({}, {{0, 1, " we"}, {1, 2, " ale"}}));
  clock.work(1);
  meter.update(update_of({}, {{0, 1, " we"}, {1, 2, " sail"}, {2, 3, " at"}}));
  clock.work(1);
  meter.update(update_of({{0, 1, " We"}}, {{1, 2, " sail"}}));
  clock.work(1);
  meter.update(update_of({{1, 2, " sail"}}));
  REQUIRE(meter.committed().size() == 2);
  CHECK(meter.committed()[0].shown_s == 1);
  CHECK(meter.committed()[0].committed_s == 3);
  CHECK(meter.committed()[1].shown_s == 2);
  CHECK(meter.committed()[1].committed_s == 4);
  CHECK(meter.n_erased() == 2);  // "ale" and "at"
  CHECK(shown.updates.size() == 4);
  CHECK(meter.n_changed(shown.committed) == 0);
  CHECK(meter.n_changed(" We sailed") == 1);      // an output that took a word back
  CHECK(meter.n_changed(" We sail sail") == 1);   // ... said one again
  CHECK(meter.n_changed(" We") == 1);             // ... lost one
  CHECK(meter.n_changed("") == 2);
}

TEST_CASE("percentiles are values by their rank") {
  CHECK(percentile({}, 0.5) == 0);
  CHECK(percentile({3, 1, 2}, 0.5) == 2);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  CHECK(percentile(hundred, 0.5) == 50);
  CHECK(percentile(hundred, 0.95) == 95);
  CHECK(percentile(hundred, 0.99) == 99);
}

// 12 s of a speaker, played by a clock that stands still while nobody waits.
LiveFigures evaluated(double output_delay_s, const std::string& text_after = "") {
  LiveScene scene;
  scene.speak(0.5, 25);
  TemporaryFolder folder;
  const std::string path = folder.path() + "/speech.wav";
  std::vector<int16_t> samples = hum(11 * kSampleRate, 500, 9000);
  samples.resize(13 * kSampleRate);
  write_wav(path, samples);
  StoppedClock clock;
  SlowOutput output(clock, output_delay_s);
  Meter meter(output, clock);
  EvaluatedClip clip{.path = path, .reference = scene.text(), .file_text = scene.text() + " indeed"};
  for (const SpokenWord& word : scene.network().spoken) clip.timed_words.push_back({word.start_s, word.end_s, word.text});

  const auto source = play_file(path, {}, clock);
  LiveFigures figures;
  Captioner captioner(
      scene.engine,
      [](std::span<const float> sound) {
        std::vector<float> probabilities;
        for (size_t i = 0; i < sound.size(); i += kVadChunk)
          probabilities.push_back(std::abs(sound[i]) + std::abs(sound[i + 8]) > 0.01f ? 0.95f : 0.02f);
        return probabilities;
      },
      scene.options, meter);
  scene.network().heard_s = [&captioner] { return captioner.heard_s(); };
  std::vector<float> sound;
  for (bool goes_on = true; goes_on;) {
    sound.clear();
    goes_on = source->read(sound);
    captioner.hear(sound, [&] { return source->waiting_s(); });
  }
  captioner.finish();
  measure(clip, meter, output.committed + text_after, 0, figures);
  return figures;
}

TEST_CASE("a delay of the output shows in the figures, all of it") {
  const LiveFigures none = evaluated(0), half = evaluated(0.5);
  REQUIRE(none.commit_delays_s.size() == 25);
  CHECK(percentile(none.commit_delays_s, 0.5) > 0);
  CHECK(percentile(none.commit_delays_s, 0.5) < 1.3);
  const double more_s = percentile(half.commit_delays_s, 0.5) - percentile(none.commit_delays_s, 0.5);
  CHECK(more_s > 0.45);
  CHECK(more_s < 1.2);  // passes are further apart, too
  CHECK(percentile(half.first_word_delays_s, 0.5) - percentile(none.first_word_delays_s, 0.5) > 0.45);
  CHECK(none.n_edits_live == 0);
  CHECK(none.n_edits_file == 1);
  CHECK(none.n_changed == 0);
  CHECK(evaluated(0, " and more").n_changed == 2);
}

TEST_CASE("a delay that grows while a clip goes on shows in its parts") {
  LiveFigures figures;
  figures.sound_s = 1500;
  for (int i = 0; i < 1500; ++i) {
    figures.spoken_s.push_back(i + 0.5);
    figures.commit_delays_s.push_back(1 + i / 600);
    figures.tail_delays_s.push_back(0.25);
  }
  const std::string lines = parts_lines(figures);
  CHECK(std::ranges::count(lines, '\n') == 3);
  const auto line = [&](const char* from) { return lines.substr(lines.find(from), 80); };
  CHECK(line("from 0:00").find("0.25  0.25  1.00  1.00  1.00\n") != std::string::npos);
  CHECK(line("from 20:00").find(" 300.0          0.25  0.25  3.00  3.00  3.00\n") != std::string::npos);
  CHECK(parts_lines(evaluated(0)).empty());
  CHECK(evaluated(0).spoken_s.front() == doctest::Approx(0.9));
}

TEST_CASE("the figures have the names that were agreed on") {
  LiveFigures figures = evaluated(0);
  figures.busy_s = 3;
  figures.sound_s = 12;
  const auto json = nlohmann::json::parse(figures_json(figures));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"commit_delay_p50_s", "commit_delay_p95_s", "commit_delay_p99_s",
                                          "committed_changes", "first_word_delay_s", "rtf", "tail_erasure", "wer_file",
                                          "wer_live"});
  CHECK(json["rtf"] == 0.25);
  CHECK(json["wer_file"] == 4.0);
  CHECK(json["wer_live"] == 0.0);
  CHECK(json["commit_delay_p50_s"] > 0);
}

TEST_CASE("texts and times of words come from tables, or from the file beside the clip") {
  TemporaryFolder folder;
  const std::string table = folder.path() + "/table.tsv";
  std::ofstream(table) << "path\tlanguage\treference\na/one.wav\ten\tThe first.\nb/one.wav\ten\tThe second.\r\n";
  CHECK(reference_of("/clips/a/one.wav", table) == "The first.");
  CHECK(reference_of("b/one.wav", table) == "The second.");
  CHECK_THROWS_WITH_AS(reference_of("one.wav", table), doctest::Contains("no row for one.wav"), Error);
  std::ofstream(folder.path() + "/clip.txt") << "Beside it.";
  CHECK(reference_of(folder.path() + "/clip.wav", "") == "Beside it.");
  CHECK_THROWS_WITH_AS(reference_of(folder.path() + "/other.wav", ""), doctest::Contains("--reference"), Error);

  std::ofstream(table) << "path\tstart\tend\tword\na.wav\t0.5\t0.75\tBobby\nb.wav\t1\t2\tno\na.wav\t0.75\t1\tripped\n";
  const std::vector<Word> words = word_times_of("x/a.wav", table);
  REQUIRE(words.size() == 2);
  CHECK(words[0].text == " Bobby");
  CHECK(words[1].end_s == 1);
  CHECK(word_times_of("c.wav", table).empty());
}

TEST_CASE("a clock of computing time doesn't count waiting") {
  ComputingClock clock(1);
  clock.wait_until(100);
  CHECK(clock.now_s() >= 100);
  CHECK(clock.now_s() < 101);
  CHECK(clock.waited_s() > 99);
  const double before_s = clock.now_s();
  double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum += std::sqrt(static_cast<double>(i));
  CHECK(sum > 0);
  CHECK(clock.now_s() > before_s + 0.005);
}

}  // namespace
}  // namespace sotto
