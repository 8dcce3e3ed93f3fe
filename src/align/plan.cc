#include "src/align/plan.h"

#include <utf8proc.h>

#include <algorithm>

#include "models/utf8.h"
#include "src/align/match.h"
#include "src/subtitles/units.h"

namespace sotto {
namespace {

// Nobody speaks faster than this, in characters a second; 15 are usual.
constexpr double kFastest = 25;
constexpr double kSounds_alike = 0.5;  // likeness of words of which one was taken for the other

bool is_digit(std::string_view grapheme) {
  return utf8proc_category(static_cast<int32_t>(first_character(grapheme).code)) == UTF8PROC_CATEGORY_ND;
}

// The digits of a number one by one, with the marks behind each.
std::vector<WrittenWord> cut_at_digits(const WrittenWord& word) {
  std::vector<WrittenWord> parts = {{"", word.space}};
  bool behind_digit = false;
  for (const Grapheme& grapheme : graphemes_of(word.text)) {
    const bool digit = is_digit(grapheme.bytes);
    if (digit && behind_digit) parts.push_back({"", false});
    parts.back().text += grapheme.bytes;
    if (digit || !matching_key(grapheme.bytes).empty()) behind_digit = digit;
  }
  return parts;
}

// Marks without a letter go with the word before them, those at a text's beginning with the word after.
void add_text(std::vector<TextPiece>& pieces, const std::string& text, int segment, double start_s, double end_s) {
  const std::vector<WrittenWord> words = written_words(text);
  int total = 0, done = 0;
  for (const WrittenWord& word : words) total += size_of(word.text).graphemes;
  const auto add = [&](const WrittenWord& part, bool goes_on) {
    const double from_s = start_s + (end_s - start_s) * done / std::max(total, 1);
    done += size_of(part.text).graphemes;
    const double until_s = start_s + (end_s - start_s) * done / std::max(total, 1);
    const std::string written = (part.space ? " " : "") + part.text, key = matching_key(part.text);
    const bool same_text = !pieces.empty() && pieces.back().segment == segment;
    if (same_text && (key.empty() || pieces.back().key.empty())) {
      pieces.back().text += written;
      pieces.back().key += key;
      pieces.back().end_s = until_s;
    } else {
      pieces.push_back({written, key, segment, !same_text, from_s, until_s, goes_on && same_text});
    }
  };
  for (const WrittenWord& word : words) {
    bool goes_on = false;
    for (const WrittenWord& part : cut_at_digits(word)) {
      add(part, goes_on);
      goes_on = true;
    }
  }
}

void drop_without_letters(std::vector<TextPiece>& pieces) {
  std::erase_if(pieces, [](const TextPiece& piece) { return piece.key.empty(); });
}

std::vector<MatchWord> words_to_match(const std::vector<TextPiece>& pieces) {
  std::vector<MatchWord> words;
  for (const TextPiece& piece : pieces) words.push_back({piece.key, piece.begins_segment});
  return words;
}

class Planner {
 public:
  Planner(const std::vector<TextPiece>& given, const std::vector<TextPiece>& recognised, double duration_s,
          const std::function<double(double, double)>& voiced_s)
      : given_(given), recognised_(recognised), duration_s_(duration_s), voiced_s_(voiced_s),
        matches_(match_words(words_to_match(given), words_to_match(recognised))) {}

  std::vector<PlannedPiece> run() {
    int g = 0, r = 0;
    const int n_given = static_cast<int>(given_.size()), n_recognised = static_cast<int>(recognised_.size());
    while (g < n_given || r < n_recognised) {
      int next = g;
      while (next < n_given && !firm(next)) ++next;
      gap(g, next, r, next < n_given ? matches_[next] : n_recognised);
      if (next == n_given) break;
      add(next, matches_[next]);
      g = next + 1;
      r = matches_[next] + 1;
    }
    return std::move(plan_);
  }

 private:
  bool firm(int g) const { return matches_[g] >= 0 && given_[g].key == recognised_[matches_[g]].key; }

  void add(int g, int r) { plan_.push_back({g, r, recognised_[r].start_s, recognised_[r].end_s}); }

  // Between two words that are sure: given words [g0, g1), recognised ones [r0, r1).
  void gap(int g0, int g1, int r0, int r1) {
    if (g0 == g1 && r0 == r1) return;
    const double from_s = r0 > 0 ? recognised_[r0 - 1].end_s : 0;
    const double until_s = r1 < static_cast<int>(recognised_.size()) ? recognised_[r1].start_s : duration_s_;
    int characters = 0;
    for (int g = g0; g < g1; ++g) characters += size_of(given_[g].text).graphemes;
    const bool wide = until_s - from_s > kWindow_s;  // only words that sound alike are believed over so much
    const size_t first_planned = plan_.size();
    const bool fits = characters <= kFastest * voiced_s_(from_s, until_s);
    const bool in_one_text = g1 - g0 == 1 && !given_[g0].begins_segment &&
                             g1 < static_cast<int>(given_.size()) && !given_[g1].begins_segment;
    int r = r0;
    const auto pass_recognised = [&](int until) {
      // A word or two that the model made of others stand for these; more are speech without a text.
      const bool extra = words_in(r, until) > 2 || g0 == g1;
      for (; r < until; ++r)
        if (extra) plan_.push_back({-1, r, recognised_[r].start_s, recognised_[r].end_s});
    };
    for (int g = g0; g < g1; ++g) {
      const int match = matches_[g];
      const bool alike = match >= 0 && likeness(given_[g].key, recognised_[match].key) >= kSounds_alike;
      if (match >= 0 && (fits || alike)) {
        pass_recognised(match);
        if (alike || !wide) add(g, match);
        else plan_.push_back({g, -1, from_s, until_s});
        r = match + 1;
      } else if (fits || in_one_text) {
        plan_.push_back({g, -1, from_s, until_s, !fits || r0 == r1});
      }
    }
    pass_recognised(r1);
    if (wide) narrow(first_planned, from_s, until_s);
  }

  int words_in(int r0, int r1) const {
    int n = 0;
    for (int r = r0; r < r1; ++r) n += !recognised_[r].goes_on;
    return n;
  }

  // What wasn't recognised lies between what was.
  void narrow(size_t first, double from_s, double until_s) {
    for (size_t i = first; i < plan_.size(); ++i) {
      if (plan_[i].recognised >= 0) from_s = plan_[i].until_s;
      else plan_[i].from_s = from_s;
    }
    for (size_t i = plan_.size(); i-- > first;) {
      if (plan_[i].recognised >= 0) until_s = plan_[i].from_s;
      else plan_[i].until_s = std::max(plan_[i].from_s, until_s);
    }
  }

  const std::vector<TextPiece>&given_, &recognised_;
  const double duration_s_;
  const std::function<double(double, double)>& voiced_s_;
  const std::vector<int> matches_;
  std::vector<PlannedPiece> plan_;
};

}  // namespace

std::vector<TextPiece> pieces_of(const std::vector<GivenText>& given) {
  std::vector<TextPiece> pieces;
  for (size_t i = 0; i < given.size(); ++i) add_text(pieces, given[i].text, static_cast<int>(i), 0, 0);
  drop_without_letters(pieces);
  return pieces;
}

std::vector<TextPiece> pieces_of(const Transcript& recognised) {
  std::vector<TextPiece> pieces;
  for (size_t i = 0; i < recognised.segments.size(); ++i)
    for (const Word& word : recognised.segments[i].words)
      add_text(pieces, word.text, static_cast<int>(i), word.start_s, word.end_s);
  drop_without_letters(pieces);
  return pieces;
}

std::vector<PlannedPiece> plan_pieces(const std::vector<TextPiece>& given, const std::vector<TextPiece>& recognised,
                                      double duration_s, const std::function<double(double, double)>& voiced_s) {
  return Planner(given, recognised, duration_s, voiced_s).run();
}

}  // namespace sotto
