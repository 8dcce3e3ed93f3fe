#include "models/near_words.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>

namespace sotto {
namespace {

int lower(char c) { return std::tolower(static_cast<unsigned char>(c)); }

bool same_letter(char a, char b) { return lower(a) == lower(b); }

// How many letters have to be changed, added or left out to make one word of the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // distances from the part of a so far to each beginning of b
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

bool holds(std::string_view known, std::string_view word) {
  return word.size() >= 3 &&
         std::search(known.begin(), known.end(), word.begin(), word.end(), same_letter) != known.end();
}

}  // namespace

std::vector<std::string_view> near_words(std::string_view word, std::span<const std::string_view> known) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  const size_t furthest = std::min<size_t>(2, word.size() / 2);
  for (const std::string_view candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance <= furthest || holds(candidate, word)) ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> nearest;
  for (size_t i = 0; i < ranked.size() && i < 3; ++i) nearest.push_back(ranked[i].second);
  return nearest;
}

}  // namespace sotto
