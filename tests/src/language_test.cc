#include "src/language.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/error.h"

using namespace sotto;

namespace {

struct Fitted {
  Spoken spoken;
  std::vector<std::string> warnings;
};

Fitted fit(int vocabulary, const std::string& language, bool translate) {
  Fitted fitted;
  TranscribeOptions options;
  options.language = language;
  options.translate = translate;
  const Dims dims{.vocabulary = vocabulary};
  fitted.spoken = fit_to_model(options, dims, Tokenizer(vocabulary),
                               [&](const std::string& sentence) { fitted.warnings.push_back(sentence); });
  return fitted;
}

}  // namespace

TEST_CASE("a model of many languages takes what is asked for") {
  CHECK(fit(51865, "de", true).spoken.language == "de");
  CHECK(fit(51865, "de", true).spoken.translate);
  CHECK(fit(51865, "", false).spoken.language.empty());
  CHECK(fit(51866, "yue", false).spoken.language == "yue");
  CHECK(fit(51866, "yue", false).warnings.empty());
}

TEST_CASE("a language that a vocabulary lacks is an error that names it") {
  CHECK_THROWS_WITH_AS(fit(51865, "yue", false), doctest::Contains("yue"), Error);
}

TEST_CASE("an English-only model stays with English, and says what it leaves") {
  CHECK(fit(51864, "", false).spoken.language == "en");
  CHECK(fit(51864, "", false).warnings.empty());
  CHECK(fit(51864, "en", false).warnings.empty());
  const Fitted other = fit(51864, "fr", true);
  CHECK(other.spoken.language == "en");
  CHECK(!other.spoken.translate);
  CHECK(other.warnings.size() == 2);
}

TEST_CASE("the most probable language is the first of the highest") {
  std::vector<float> log_probs(99, -9);
  log_probs[2] = log_probs[5] = -1;
  CHECK(most_probable_language(log_probs) == "de");
  log_probs[98] = -0.5;
  CHECK(most_probable_language(log_probs) == "su");
}
