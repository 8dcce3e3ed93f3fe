#include "src/live/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/live/live.h"
#include "src/live/score.h"
#include "src/writers.h"

namespace sotto {
namespace {

double share_percent(int part, int whole) { return whole > 0 ? 100.0 * part / whole : 0; }

struct TimedWord {
  std::string text;
  double end_s;
};

// A word that is several plain ones ends with the last of them.
std::vector<TimedWord> plain(const std::vector<Word>& words) {
  std::vector<TimedWord> timed;
  for (const Word& word : words)
    for (std::string& text : plain_words(word.text)) timed.push_back({std::move(text), word.end_s});
  return timed;
}

void add_delays(const Meter& meter, const std::vector<Word>& timed_words, double start_s, LiveFigures& figures) {
  const std::vector<TimedWord> spoken = plain(timed_words);
  std::vector<std::string> reference, words;
  for (const TimedWord& word : spoken) reference.push_back(word.text);
  for (const Meter::Committed& word : meter.committed()) words.push_back(word.text);
  for (const auto& [i, j] : difference(reference, words).equal) {
    figures.commit_delays_s.push_back(meter.committed()[j].committed_s - spoken[i].end_s);
    figures.tail_delays_s.push_back(meter.committed()[j].shown_s - spoken[i].end_s);
    figures.spoken_s.push_back(spoken[i].end_s - start_s);
    if (figures.first_word_delays_s.empty()) figures.first_word_delays_s.push_back(figures.tail_delays_s.back());
  }
}

}  // namespace

void LiveFigures::add(const LiveFigures& other) {
  const auto join = [](std::vector<double>& a, const std::vector<double>& b) { a.insert(a.end(), b.begin(), b.end()); };
  join(commit_delays_s, other.commit_delays_s);
  join(spoken_s, other.spoken_s);
  join(tail_delays_s, other.tail_delays_s);
  join(first_word_delays_s, other.first_word_delays_s);
  n_erased += other.n_erased;
  n_shown += other.n_shown;
  n_changed += other.n_changed;
  n_reference += other.n_reference;
  n_edits_live += other.n_edits_live;
  n_edits_file += other.n_edits_file;
  sound_s += other.sound_s;
  busy_s += other.busy_s;
  most_behind_s = std::max(most_behind_s, other.most_behind_s);
  n_passes += other.n_passes;
}

void measure(const EvaluatedClip& clip, const Meter& meter, const std::string& text_at_end, double start_s,
             LiveFigures& figures) {
  std::vector<Word> timed_words = clip.timed_words;
  for (Word& word : timed_words) word.end_s += start_s;
  add_delays(meter, timed_words, start_s, figures);
  const std::vector<std::string> reference = plain_words(clip.reference);
  std::vector<std::string> words;
  for (const Meter::Committed& word : meter.committed()) {
    words.push_back(word.text);
    figures.text += (figures.text.empty() ? "" : " ") + word.text;
  }
  figures.n_reference = static_cast<int>(reference.size());
  figures.n_edits_live = difference(reference, words).n_edits;
  figures.n_edits_file = difference(reference, plain_words(clip.file_text)).n_edits;
  figures.n_erased = meter.n_erased();
  figures.n_shown = static_cast<int>(words.size());
  figures.n_changed = meter.n_changed(text_at_end);
  figures.most_behind_s = meter.most_behind_s();
}

LiveFigures evaluate_clip(Engine& engine, const EvaluatedClip& clip, const LiveOptions& options, Clock& clock,
                          ReadableOutput& output, const std::function<bool()>& stopped) {
  Meter meter(output, clock);
  const double start_s = clock.now_s(), waited_before_s = clock.waited_s();
  const auto source = play_file(clip.path, {}, clock);
  LiveFigures figures;
  const Captioned captioned = caption(engine, *source, options, meter, {.sound = {}, .stopped = stopped});
  figures.n_passes = captioned.n_passes;
  figures.busy_s = clock.now_s() - start_s - (clock.waited_s() - waited_before_s);
  figures.sound_s = captioned.heard_s;
  measure(clip, meter, output.committed_text(), start_s, figures);
  return figures;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

std::string figures_head() {
  return "clip                             sound  first   tail delay  commit delay        erased changed   WER %        "
         "passes   rtf  behind\n"
         "                                     s      s    p50   p95   p50   p95   p99                   live   file\n";
}

std::string figures_line(const std::string& name, const LiveFigures& f) {
  char line[300];
  std::snprintf(line, sizeof line, "%-30.30s %7.1f %6.2f %6.2f %5.2f %5.2f %5.2f %5.2f %9.3f %7d %6.2f %6.2f %7d %5.2f %7.1f\n",
                name.c_str(), f.sound_s, percentile(f.first_word_delays_s, 0.5), percentile(f.tail_delays_s, 0.5),
                percentile(f.tail_delays_s, 0.95), percentile(f.commit_delays_s, 0.5), percentile(f.commit_delays_s, 0.95),
                percentile(f.commit_delays_s, 0.99), f.n_shown > 0 ? double(f.n_erased) / f.n_shown : 0, f.n_changed,
                share_percent(f.n_edits_live, f.n_reference), share_percent(f.n_edits_file, f.n_reference), f.n_passes,
                f.sound_s > 0 ? f.busy_s / f.sound_s : 0, f.most_behind_s);
  return line;
}

std::string parts_lines(const LiveFigures& f, double part_s) {
  std::string lines;
  const int n_parts = static_cast<int>(std::ceil(f.sound_s / part_s));
  for (int part = 0; n_parts > 1 && part < n_parts; ++part) {
    LiveFigures of_part;
    for (size_t i = 0; i < f.spoken_s.size(); ++i) {
      if (std::clamp(static_cast<int>(f.spoken_s[i] / part_s), 0, n_parts - 1) != part) continue;
      of_part.commit_delays_s.push_back(f.commit_delays_s[i]);
      of_part.tail_delays_s.push_back(f.tail_delays_s[i]);
    }
    char line[200];
    std::snprintf(line, sizeof line, "  from %-23s %7.1f %6s %6.2f %5.2f %5.2f %5.2f %5.2f\n",
                  rough_time(part * part_s).c_str(), std::min(part_s, f.sound_s - part * part_s), "",
                  percentile(of_part.tail_delays_s, 0.5), percentile(of_part.tail_delays_s, 0.95),
                  percentile(of_part.commit_delays_s, 0.5), percentile(of_part.commit_delays_s, 0.95),
                  percentile(of_part.commit_delays_s, 0.99));
    lines += line;
  }
  return lines;
}

std::string figures_json(const LiveFigures& f) {
  const nlohmann::ordered_json json = {
      {"commit_delay_p50_s", percentile(f.commit_delays_s, 0.50)},
      {"commit_delay_p95_s", percentile(f.commit_delays_s, 0.95)},
      {"commit_delay_p99_s", percentile(f.commit_delays_s, 0.99)},
      {"first_word_delay_s", percentile(f.first_word_delays_s, 0.50)},
      {"tail_erasure", f.n_shown > 0 ? double(f.n_erased) / f.n_shown : 0},
      {"committed_changes", f.n_changed},
      {"wer_live", share_percent(f.n_edits_live, f.n_reference)},
      {"wer_file", share_percent(f.n_edits_file, f.n_reference)},
      {"rtf", f.sound_s > 0 ? f.busy_s / f.sound_s : 0}};
  return json.dump(2) + "\n";
}

}  // namespace sotto
