#include "models/languages.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "models/error.h"

using namespace sotto;

TEST_CASE("there are a hundred languages in the order of their tokens") {
  REQUIRE(languages().size() == 100);
  CHECK(languages()[0].code == "en");
  CHECK(languages()[2].name == "german");
  CHECK(languages()[98].code == "su");
  CHECK(languages()[99].code == "yue");
  std::set<std::string_view> codes, names;
  for (const Language& language : languages()) {
    codes.insert(language.code);
    names.insert(language.name);
    CHECK(language_code(language.code) == language.code);
    CHECK(language_code(language.name) == language.code);
  }
  CHECK(codes.size() == 100);
  CHECK(names.size() == 100);
}

TEST_CASE("codes, names and aliases are known in any case") {
  CHECK(language_code("DE") == "de");
  CHECK(language_code("German") == "de");
  CHECK(language_code("Haitian Creole") == "ht");
  CHECK(language_code("castilian") == "es");
  CHECK(language_code("Mandarin") == "zh");
  CHECK(language_code("Burmese") == "my");
  CHECK(language_code("Flemish") == "nl");
  CHECK(language_code("de-DE") == "de");
  CHECK(language_code("en_US") == "en");
  CHECK(language_code("ZH-Hant") == "zh");
}

TEST_CASE("an unknown language is named with the closest ones") {
  const auto message = [](std::string_view written) {
    try {
      language_code(written);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("Germn") ==
        "there is no language \"Germn\"; did you mean German (de)? Give a name or a code such as de");
  CHECK(message("sapnish").find("did you mean Spanish (es)") != std::string::npos);
  CHECK(message("castillian").find("did you mean Castilian (es)?") != std::string::npos);
  CHECK(message("klingon") == "there is no language \"klingon\"; give a name or a code such as de");
  CHECK(message("haitian cr").find("did you mean Haitian Creole (ht)?") != std::string::npos);
  CHECK(message("") == "there is no language \"\"; give a name or a code such as de");
  CHECK(message("\xFF\xFE").find("there is no language") != std::string::npos);
}
