#include "src/language.h"

#include <algorithm>

#include "models/error.h"
#include "models/languages.h"

namespace sotto {

Spoken fit_to_model(const TranscribeOptions& options, const Dims& dims, const Tokenizer& tokenizer,
                    const std::function<void(const std::string&)>& warn) {
  if (!dims.multilingual()) {
    if (!options.language.empty() && options.language != "en")
      warn("this model knows English alone, so '" + options.language + "' is not used");
    if (options.translate) warn("this model knows English alone, so nothing is translated");
    return {"en", false};
  }
  if (!options.language.empty() && tokenizer.language_token(options.language) < 0)
    throw Error("this model hasn't learnt the language '" + options.language + "'; large-v3 and its kin have");
  return {options.language, options.translate};
}

std::string_view most_probable_language(std::span<const float> log_probs) {
  CHECK_INVARIANT(!log_probs.empty() && log_probs.size() <= languages().size());
  return languages()[std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin()].code;
}

}  // namespace sotto
