#include "src/align/match.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

#include "models/utf8.h"

namespace sotto {
namespace {

constexpr float kOpenGap = 0.5f, kGap = 0.6f, kAtSentence = 0.05f;
constexpr float kOther = 1.6f;               // of two words with nothing in common, which is less than two gaps
constexpr int64_t kMostCells = 2'000'000;    // of one table
constexpr int kRows[] = {4, 3, 2, 1};        // words in a row that are looked for

std::u32string codes_of(std::string_view text) {
  std::u32string codes;
  while (!text.empty()) {
    const Character character = first_character(text);
    codes += character.code;
    text.remove_prefix(character.length);
  }
  return codes;
}

enum State : uint8_t { both, only_a, only_b };

// The cheapest way through a table of two texts' words, by the three states of Gotoh (1982).
class Table {
 public:
  Table(std::span<const MatchWord> a, std::span<const MatchWord> b) : a_(a), b_(b) {}

  void fill(std::vector<int>& matches, size_t first_a, size_t first_b) {
    const size_t width = b_.size() + 1;
    from_.assign((a_.size() + 1) * width, {both, both, both});
    std::vector<Costs> above(width, kNoWay), row(width, kNoWay);
    for (size_t i = 0; i <= a_.size(); ++i) {
      for (size_t j = 0; j <= b_.size(); ++j) {
        Costs& here = row[j] = kNoWay;
        From& from = from_[i * width + j];
        if (i == 0 && j == 0) here[both] = 0;
        if (i > 0 && j > 0) take(here[both], from[both], above[j - 1], cost(a_[i - 1].key, b_[j - 1].key), both);
        if (i > 0) take(here[only_a], from[only_a], above[j], gap(a_[i - 1]), only_a);
        if (j > 0) take(here[only_b], from[only_b], row[j - 1], gap(b_[j - 1]), only_b);
      }
      std::swap(above, row);
    }
    const Costs& last = above[b_.size()];
    auto state = static_cast<State>(std::ranges::min_element(last) - last.begin());
    for (size_t i = a_.size(), j = b_.size(); i > 0 || j > 0;) {
      const State before = from_[i * width + j][state];
      if (state == both) matches[first_a + i - 1] = static_cast<int>(first_b + j - 1);
      if (state != only_b) --i;
      if (state != only_a) --j;
      state = before;
    }
  }

 private:
  using Costs = std::array<float, 3>;
  using From = std::array<State, 3>;
  static constexpr Costs kNoWay = {1e30f, 1e30f, 1e30f};

  static float cost(const std::string& a, const std::string& b) {
    return a == b ? 0 : kOther * static_cast<float>(1 - 0.6 * likeness(a, b));
  }
  static float gap(const MatchWord& word) { return word.begins_sentence ? kGap - kAtSentence : kGap; }
  static void take(float& cost, State& from, const Costs& before, float step, State state) {
    for (const State s : {both, only_a, only_b}) {
      const float whole = before[s] + step + (s != state && state != both ? kOpenGap : 0);
      if (whole < cost) cost = whole, from = s;
    }
  }

  std::span<const MatchWord> a_, b_;
  std::vector<From> from_;
};

struct Pair {
  size_t a, b;
};

// Rows of n words that both texts have once, as far as they come in the same order in both.
std::vector<Pair> common_rows(std::span<const MatchWord> a, std::span<const MatchWord> b, size_t n) {
  struct Place {
    int in_a = 0, in_b = 0;
    size_t a = 0, b = 0;
  };
  std::map<std::string, Place> places;
  const auto row_at = [n](std::span<const MatchWord> words, size_t i) {
    std::string row;
    for (size_t k = i; k < i + n; ++k) row.append(words[k].key).append("\n");
    return row;
  };
  for (size_t i = 0; i + n <= a.size(); ++i) {
    Place& place = places[row_at(a, i)];
    ++place.in_a, place.a = i;
  }
  for (size_t i = 0; i + n <= b.size(); ++i)
    if (const auto found = places.find(row_at(b, i)); found != places.end()) ++found->second.in_b, found->second.b = i;
  std::vector<Pair> pairs;
  for (const auto& [row, place] : places)
    if (place.in_a == 1 && place.in_b == 1) pairs.push_back({place.a, place.b});
  std::ranges::sort(pairs, {}, &Pair::a);

  std::vector<size_t> tails, before(pairs.size());  // the longest row of pairs whose b grow
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto place = std::ranges::lower_bound(tails, pairs[i].b, {}, [&](size_t t) { return pairs[t].b; });
    before[i] = place == tails.begin() ? pairs.size() : place[-1];
    if (place == tails.end()) tails.push_back(i);
    else *place = i;
  }
  std::vector<Pair> growing;
  for (size_t i = tails.empty() ? pairs.size() : tails.back(); i < pairs.size(); i = before[i]) growing.push_back(pairs[i]);
  std::ranges::reverse(growing);
  return growing;
}

class Matcher {
 public:
  Matcher(std::span<const MatchWord> a, std::span<const MatchWord> b) : matches(a.size(), -1), a_(a), b_(b) {
    between(0, a.size(), 0, b.size());
  }
  std::vector<int> matches;

 private:
  void between(size_t a0, size_t a1, size_t b0, size_t b1) {
    if (a0 == a1 || b0 == b1) return;
    const auto a = a_.subspan(a0, a1 - a0), b = b_.subspan(b0, b1 - b0);
    if (static_cast<int64_t>(a.size()) * static_cast<int64_t>(b.size()) <= kMostCells) return Table(a, b).fill(matches, a0, b0);
    for (const int n : kRows) {
      const std::vector<Pair> rows = common_rows(a, b, static_cast<size_t>(n));
      if (rows.empty()) continue;
      size_t from_a = a0, from_b = b0;
      for (const Pair& row : rows) {
        const size_t at_a = a0 + row.a, at_b = b0 + row.b;
        if (at_a < from_a || at_b < from_b) continue;  // inside the last one
        between(from_a, at_a, from_b, at_b);
        for (int k = 0; k < n; ++k) matches[at_a + static_cast<size_t>(k)] = static_cast<int>(at_b) + k;
        from_a = at_a + static_cast<size_t>(n);
        from_b = at_b + static_cast<size_t>(n);
      }
      return between(from_a, a1, from_b, b1);
    }
  }

  std::span<const MatchWord> a_, b_;
};

}  // namespace

std::string matching_key(std::string_view word) {
  const std::string valid = valid_utf8(word);
  utf8proc_uint8_t* mapped = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()), std::ssize(valid), &mapped,
                                   static_cast<utf8proc_option_t>(UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD |
                                                                  UTF8PROC_STRIPMARK | UTF8PROC_STABLE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  std::string key;
  std::string_view rest(reinterpret_cast<const char*>(mapped), length > 0 ? static_cast<size_t>(length) : 0);
  while (!rest.empty()) {
    const Character character = first_character(rest);
    if (utf8proc_category(static_cast<int32_t>(character.code)) <= UTF8PROC_CATEGORY_NO)  // letters, marks, numbers
      if (character.code != 0) key += rest.substr(0, character.length);
    rest.remove_prefix(character.length);
  }
  return key;
}

double likeness(std::string_view a, std::string_view b) {
  const std::u32string x = codes_of(a), y = codes_of(b);
  const size_t longest = std::max(x.size(), y.size());
  if (longest == 0) return 1;
  if (2 * std::min(x.size(), y.size()) < longest) return 0;
  std::vector<int> row(y.size() + 1);
  for (size_t j = 0; j <= y.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= x.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= y.size(); ++j) {
      const int change = diagonal + (x[i - 1] != y[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return 1 - static_cast<double>(row.back()) / static_cast<double>(longest);
}

std::vector<int> match_words(std::span<const MatchWord> a, std::span<const MatchWord> b) { return Matcher(a, b).matches; }

}  // namespace sotto
