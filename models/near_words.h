// What somebody may have meant who wrote a name that there isn't.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace sotto {

// Up to three of the known words that are near this one, nearest first, whatever the case: those that two letters make
// of it (changed, added or left out; one, if it's shorter than four), and those that hold three letters or more of it.
std::vector<std::string_view> near_words(std::string_view word, std::span<const std::string_view> known);

}  // namespace sotto
