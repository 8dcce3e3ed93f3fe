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
  CHECK(message("Germn") == "there is no language \"Germn\": the closest are german (de), korean (ko) or hebrew (he); "
                            "give a name or a code such as de");
  CHECK(message("sapnish").find("the closest are spanish (es)") != std::string::npos);
  CHECK(message("castillian").find("the closest are castilian (es)") != std::string::npos);
  CHECK(message("").find("there is no language \"\"") != std::string::npos);
  CHECK(message("\xFF\xFE").find("there is no language") != std::string::npos);
}
