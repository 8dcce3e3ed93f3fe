#include "src/language.h"

#include <doctest/doctest.h>

#include <cmath>
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
  LanguageVote vote({});
  vote.hear(log_probs, 1);
  CHECK(vote.result().code == "de");
  log_probs[98] = -0.5;
  LanguageVote other({});
  other.hear(log_probs, 1);
  CHECK(other.result().code == "su");
}

TEST_CASE("several windows have it, each as far as it is sure and as it has something to say") {
  std::vector<float> english(99, -20), german(99, -20), unsure(99, -20);
  english[0] = std::log(0.6f), english[2] = std::log(0.4f);
  german[0] = std::log(0.1f), german[2] = std::log(0.9f);
  LanguageVote vote({});
  CHECK(!vote.heard_any());
  vote.hear(english, 1);
  CHECK(vote.heard_any());
  CHECK(vote.result().code == "en");
  CHECK(vote.result().probability == doctest::Approx(0.6));
  vote.hear(german, 1);
  CHECK(vote.result().code == "de");
  CHECK(vote.result().probability == doctest::Approx(0.65));
  vote.hear(english, 8);
  CHECK(vote.result().code == "en");
}

TEST_CASE("it is settled when one is sure over enough speech and windows, or after five") {
  std::vector<float> sure(99, -20), unsure(99, -4.6f);
  sure[2] = std::log(0.97f);
  LanguageVote one({}), three({}, 3), short_ones({}), never({});
  one.hear(sure, 20);
  CHECK(one.settled());
  for (int i = 0; i < 3; ++i) {
    CHECK(!three.settled());
    three.hear(sure, 20);
  }
  CHECK(three.settled());
  for (int i = 0; i < 3; ++i) {
    CHECK(!short_ones.settled());
    short_ones.hear(sure, 6);
  }
  CHECK(short_ones.settled());
  for (int i = 0; i < 5; ++i) {
    CHECK(!never.settled());
    never.hear(unsure, 30);
  }
  CHECK(never.settled());
}

TEST_CASE("only what is allowed is chosen, and its probability is that among the allowed") {
  std::vector<float> log_probs(99, -200);
  log_probs[0] = std::log(0.7f), log_probs[2] = std::log(0.2f), log_probs[3] = std::log(0.1f);
  const std::vector<std::string> allowed = {"de", "es"}, unheard = {"cy", "yue"};
  LanguageVote vote(allowed);
  vote.hear(log_probs, 2.5);
  CHECK(vote.result().code == "de");
  CHECK(vote.result().probability == doctest::Approx(2.0 / 3));
  LanguageVote none(unheard);
  none.hear(log_probs, 1);
  CHECK(none.result().code == "cy");
  CHECK(none.result().probability == doctest::Approx(1));
}

TEST_CASE("languages to choose from must be the model's") {
  TranscribeOptions options;
  options.languages = {"de", "yue"};
  CHECK_THROWS_WITH_AS(fit_to_model(options, Dims{.vocabulary = 51865}, Tokenizer(51865), {}), doctest::Contains("yue"),
                       Error);
  CHECK(fit_to_model(options, Dims{.vocabulary = 51866}, Tokenizer(51866), {}).language.empty());
}
