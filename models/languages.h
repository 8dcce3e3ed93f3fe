// The languages Whisper knows, in the order of their tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sotto {

struct Language {
  std::string_view code;  // "de"
  std::string_view name;  // "german"
};

std::span<const Language> languages();  // 100; a vocabulary of 51865 has the first 99

// The code for what a user wrote: a code, a name or an alias, in any case ("German", "DE", "castilian"), or a code with
// a region or script ("de-DE", "zh_Hant"). Throws Error with the names that are near it if there is none.
std::string_view language_code(std::string_view written);

}  // namespace sotto
