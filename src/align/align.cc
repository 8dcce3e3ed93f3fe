#include "src/align/align.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "audio/decode.h"
#include "audio/features.h"
#include "models/error.h"
#include "src/align/long_gap.h"
#include "src/align/match.h"
#include "src/align/plan.h"
#include "src/job.h"
#include "src/speech_edges.h"
#include "src/voice.h"
#include "src/word_split.h"
#include "src/words.h"

namespace sotto {
namespace {

constexpr double kAround_s = 0.5;        // of sound on both sides of what is looked for in a gap
constexpr int kMostTokens = 400;         // of a window's text, which with what goes before it has 448 places
constexpr float kSaid = 0.005f;          // probability of a word that may not have been said
constexpr int kUntoldWords = 3;          // so many are worth telling
constexpr double kMostOfGap_s = 28;      // of one part, with what is around it

// One pass of the decoder.
struct Pass {
  int64_t seek = 0;
  double end_s = 0;                                 // of what it is to hold
  std::vector<std::pair<int, std::vector<int>>> segments;  // a recognised segment (-1: none), and its planned pieces
};

struct Timed {
  double start_s, end_s;
  float probability;
};

int64_t to_frame(double at_s) { return static_cast<int64_t>(std::max(0.0, at_s) * kSampleRate / kMelHop); }

class Aligner {
 public:
  Aligner(Engine& engine, const Sound& sound, const TranscribeOptions& options, const std::vector<GivenText>& given,
          const Listener& listener)
      : engine_(engine), sound_(sound), options_(options), listener_(listener), given_texts_(given),
        recognised_text_(transcribe(engine, sound, options, listener)), decoder_(sound.path, sound.decoding),
        features_(decoder_, engine.weights->dims.mel_bins), voice_(engine.vad.get(), options.vad), given_(pieces_of(given)),
        recognised_(pieces_of(recognised_text_)) {}

  AlignedText run() {
    const double duration_s = seconds_of(features_.n_samples());
    const int64_t n_frames = features_.n_samples() / kMelHop;
    for (int64_t at = 0; at < n_frames; at += kMelFrames)
      voice_.hear(features_, at, std::min<int64_t>(n_frames, at + kMelFrames));
    voice_.finish(features_.n_samples());
    speech_ = voice_.speech_from(0);
    plan_ = plan_pieces(given_, recognised_, duration_s,
                        [this](double from_s, double until_s) { return voiced_s(from_s, until_s); });
    times_.resize(plan_.size());
    part_long_gaps();
    for (const Pass& pass : passes()) {
      if (listener_.stopped && listener_.stopped()) break;
      for (const auto& [piece, timed] : feed(pass))
        if (!plan_[piece].doubtful || timed.probability >= kSaid) times_[static_cast<size_t>(piece)] = timed;
    }
    return result();
  }

 private:
  double voiced_s(double from_s, double until_s) const;
  void part_long_gaps();
  void part_gap(int first, int end);
  std::vector<Pass> passes() const;
  std::vector<std::pair<int, Timed>> feed(const Pass& pass);  // planned pieces with their times
  void take_times(const std::vector<int>& pieces, const Segment& segment, std::vector<std::pair<int, Timed>>& all) const;
  const std::string& text_of(const PlannedPiece& piece) const {
    return piece.given >= 0 ? given_[piece.given].text : recognised_[piece.recognised].text;
  }
  AlignedText result() const;
  void tell_unheard(AlignedText& out, const std::vector<const Timed*>& of_given) const;
  void tell_untold(AlignedText& out) const;

  Engine& engine_;
  const Sound& sound_;
  const TranscribeOptions& options_;
  const Listener& listener_;
  const std::vector<GivenText>& given_texts_;
  Transcript recognised_text_;
  Decoder decoder_;
  Features features_;
  Voice voice_;
  std::vector<Speech> speech_;  // where voice_ is active
  std::vector<TextPiece> given_, recognised_;
  std::vector<PlannedPiece> plan_;
  std::vector<std::optional<Timed>> times_;  // of planned pieces
};

double Aligner::voiced_s(double from_s, double until_s) const {
  if (!voice_.active()) return std::max(0.0, until_s - from_s);
  double sum_s = 0;
  for (const Speech& one : speech_)
    sum_s += std::max(0.0, std::min(until_s, seconds_of(one.end)) - std::max(from_s, seconds_of(one.start)));
  return sum_s;
}

// The windows that were recognised, each with the given words in place of its own. Words that were heard between others
// go with the window of the one before them, or of the one behind, or have a window of their own.
std::vector<Pass> Aligner::passes() const {
  std::map<int64_t, Pass> by_seek;
  std::vector<Pass> others;
  const auto window_of = [&](int planned) -> Pass& {
    const Segment& segment = recognised_text_.segments[recognised_[plan_[planned].recognised].segment];
    Pass& pass = by_seek[segment.seek];
    pass.seek = segment.seek;
    pass.end_s = std::max(pass.end_s, segment.end_s);
    return pass;
  };
  const auto add = [&](Pass& pass, int segment, int planned) {
    if (pass.segments.empty() || pass.segments.back().first != segment) pass.segments.push_back({segment, {}});
    pass.segments.back().second.push_back(planned);
  };
  const int n = static_cast<int>(plan_.size());
  int last = -1;  // that was recognised
  for (int i = 0; i < n;) {
    if (plan_[i].recognised >= 0) {
      add(window_of(i), recognised_[plan_[i].recognised].segment, i);
      last = i++;
      continue;
    }
    int next = i;
    while (next < n && plan_[next].recognised < 0 && plan_[next].from_s == plan_[i].from_s) ++next;
    const double from_s = plan_[i].from_s, until_s = plan_[i].until_s;
    Pass* home = nullptr;
    int segment = -1;
    if (last >= 0 && until_s - frame_seconds(window_of(last).seek) < kWindow_s) home = &window_of(last);
    if (home) segment = recognised_[plan_[last].recognised].segment;
    if (!home && next < n && plan_[next].recognised >= 0 && from_s >= frame_seconds(window_of(next).seek)) {
      home = &window_of(next);
      segment = recognised_[plan_[next].recognised].segment;
    }
    if (!home) {
      home = &others.emplace_back(Pass{to_frame(from_s - kAround_s), until_s + kAround_s, {}});
    }
    home->end_s = std::max(home->end_s, until_s);
    for (; i < next; ++i) add(*home, segment, i);
  }
  for (auto& [seek, pass] : by_seek) others.push_back(std::move(pass));
  std::ranges::sort(others, {}, &Pass::seek);
  return others;
}

// Words that lie in a gap which no window holds get a part of it each.
void Aligner::part_long_gaps() {
  for (int i = 0, end; i < static_cast<int>(plan_.size()); i = end) {
    for (end = i + 1; end < static_cast<int>(plan_.size()) && plan_[i].recognised < 0 && plan_[end].recognised < 0;) ++end;
    if (plan_[i].recognised < 0 && plan_[i].until_s - plan_[i].from_s > kWindow_s) part_gap(i, end);
  }
}

// By the pace of speech.
void Aligner::part_gap(int first, int end) {
  const std::vector<GapPart> parts = parts_of_gap(plan_[first].from_s, plan_[first].until_s, speech_, kMostOfGap_s);
  if (parts.empty()) return;
  std::vector<int> lengths;
  for (int i = first; i < end; ++i) lengths.push_back(static_cast<int>(text_of(plan_[i]).size()));
  const std::vector<int> cuts = expected_cuts(parts, lengths);
  for (size_t k = 0; k < parts.size(); ++k)
    for (int i = cuts[k]; i < cuts[k + 1]; ++i) {
      plan_[first + i].from_s = parts[k].start_s;
      plan_[first + i].until_s = parts[k].end_s;
    }
}

std::vector<std::pair<int, Timed>> Aligner::feed(const Pass& pass) {
  const auto wanted = static_cast<int64_t>(std::ceil((pass.end_s + kAround_s) * kSampleRate / kMelHop)) - pass.seek;
  const int n_frames = features_.available(pass.seek, static_cast<int>(std::clamp<int64_t>(wanted, 2, kMelFrames)));
  std::vector<Segment> segments;
  int n_tokens = 0;
  for (const auto& [number, pieces] : pass.segments) {
    Segment& segment = segments.emplace_back();
    segment.seek = pass.seek;
    for (const int piece : pieces) segment.text += text_of(plan_[piece]);
    if (segment.text.empty() || segment.text[0] != ' ') segment.text.insert(segment.text.begin(), ' ');
    segment.tokens = engine_.tokenizer.encode(segment.text);
    n_tokens += static_cast<int>(segment.tokens.size());
    const bool recognised = number >= 0;
    segment.start_s = recognised ? recognised_text_.segments[number].start_s : frame_seconds(pass.seek);
    segment.end_s = recognised ? recognised_text_.segments[number].end_s : pass.end_s;
  }
  if (n_frames < 2 || n_tokens > kMostTokens) return {};
  Mel mel;
  features_.window(pass.seek, n_frames, mel);
  const float* values = mel.values.data();
  const int slot = 0;
  engine_.network->encode({&values, 1}, {&slot, 1});
  const std::string& language = recognised_text_.language;
  const int language_token = engine_.tokenizer.language_token(language);
  const TextTimes times = time_text(*engine_.network, slot, n_frames, segments, language_token, false);
  add_words(segments, times, engine_.tokenizer, language, options_.words, frame_seconds(pass.seek));
  if (voice_.active()) snap_to_speech(segments, speech_);
  std::vector<std::pair<int, Timed>> timed;
  for (size_t i = 0; i < segments.size(); ++i) take_times(pass.segments[i].second, segments[i], timed);
  return timed;
}

// Words and pieces are cut in different ways; each piece has the time of the words that share bytes with it.
void Aligner::take_times(const std::vector<int>& pieces, const Segment& segment,
                         std::vector<std::pair<int, Timed>>& all) const {
  size_t at = 0;  // in the segment's text
  size_t word = 0, word_begin = 0;
  for (const int piece : pieces) {
    const std::string& text = text_of(plan_[piece]);
    const bool led_by_space = at == 0 && (text.empty() || text[0] != ' ');
    const size_t begin = at + (text.starts_with(' ') ? 1 : 0) + (led_by_space ? 1 : 0);
    const size_t end = at + text.size() + (led_by_space ? 1 : 0);
    at = end;
    while (word < segment.words.size() && word_begin + segment.words[word].text.size() <= begin)
      word_begin += segment.words[word++].text.size();
    if (word == segment.words.size()) return;
    Timed timed{segment.words[word].start_s, segment.words[word].end_s, segment.words[word].probability};
    size_t last_begin = word_begin;
    for (size_t last = word; last < segment.words.size() && last_begin < end; last_begin += segment.words[last++].text.size())
      timed.end_s = segment.words[last].end_s;
    all.emplace_back(piece, timed);
  }
}

AlignedText Aligner::result() const {
  std::vector<const Timed*> of_given(given_.size(), nullptr);
  for (size_t i = 0; i < plan_.size(); ++i)
    if (plan_[i].given >= 0 && times_[i]) of_given[static_cast<size_t>(plan_[i].given)] = &*times_[i];
  AlignedText out;
  Transcript& transcript = out.transcript = recognised_text_;
  transcript.segments.clear();
  for (size_t i = 0; i < given_texts_.size(); ++i) {
    Segment& segment = transcript.segments.emplace_back();
    segment.id = static_cast<int>(i);
    segment.text = given_texts_[i].text;
    segment.speaker = given_texts_[i].speaker;
  }
  const bool with_spaces = parted_by_spaces(recognised_text_.language);
  double at_s = 0;
  std::vector<char> heard(given_texts_.size());
  for (size_t i = 0; i < given_.size(); ++i) {
    Segment& segment = transcript.segments[given_[i].segment];
    Word word{at_s, at_s, given_[i].text, 0};
    if (const Timed* timed = of_given[i]) {
      word.start_s = std::max(at_s, timed->start_s);
      word.end_s = at_s = std::max(word.start_s, timed->end_s);
      word.probability = timed->probability;
      if (!heard[segment.id]) {
        segment.start_s = word.start_s;
        for (Word& before : segment.words) before.start_s = before.end_s = word.start_s;
      }
      heard[segment.id] = true;
      segment.end_s = word.end_s;
    }
    if (given_[i].goes_on && with_spaces) {  // "1995" is one word, though each of its digits was looked for
      Word& number = segment.words.back();
      if (number.probability == 0) number.start_s = word.start_s;
      number.end_s = word.end_s;
      number.text += word.text;
      number.probability = std::max(number.probability, word.probability);
    } else {
      segment.words.push_back(std::move(word));
    }
  }
  for (Segment& segment : transcript.segments)
    if (!heard[segment.id]) segment.words.clear();
  tell_unheard(out, of_given);
  tell_untold(out);
  return out;
}

void Aligner::tell_unheard(AlignedText& out, const std::vector<const Timed*>& of_given) const {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (of_given[i]) continue;
    if (i == 0 || of_given[i - 1]) out.unheard.push_back({given_[i].segment, 0, 0, ""});
    std::string& text = out.unheard.back().text;
    text += text.empty() && given_[i].text[0] == ' ' ? given_[i].text.substr(1) : given_[i].text;
  }
}

void Aligner::tell_untold(AlignedText& out) const {
  int segment = -1;
  for (size_t i = 0; i < plan_.size();) {
    if (plan_[i].given >= 0) {
      segment = given_[static_cast<size_t>(plan_[i++].given)].segment;
      continue;
    }
    AlignedText::Stretch stretch{segment, plan_[i].from_s, 0, ""};
    size_t end = i;
    int n_words = 0;
    for (; end < plan_.size() && plan_[end].given < 0; ++end) {
      const TextPiece& piece = recognised_[static_cast<size_t>(plan_[end].recognised)];
      stretch.text += piece.text;
      stretch.end_s = plan_[end].until_s;
      n_words += !piece.goes_on;
    }
    if (n_words >= kUntoldWords) out.untold.push_back(std::move(stretch));
    i = end;
  }
}

}  // namespace

AlignedText align_text(Engine& engine, const Sound& sound, const TranscribeOptions& options,
                       const std::vector<GivenText>& given, const Listener& listener) {
  if (sound.path == "-") throw Error("the sound is read twice to align a text, which standard input can't be; give a file");
  TranscribeOptions with_words = options;
  with_words.words.timestamps = true;
  with_words.translate = false;
  return Aligner(engine, sound, with_words, given, listener).run();
}

}  // namespace sotto
