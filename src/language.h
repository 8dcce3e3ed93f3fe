// Which language is spoken, and what the model can do about it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "models/tokenizer.h"
#include "src/options.h"

namespace sotto {

// Language and task of a transcript, as far as they are known before anything was heard.
struct Spoken {
  std::string language;  // code; empty: to be detected
  bool translate = false;
};

// What was asked for, fitted to the model: one for English alone has no other language and no translation, which is
// said through warn. Throws Error for a language that this model hasn't learnt.
Spoken fit_to_model(const TranscribeOptions& options, const Dims& dims, const Tokenizer& tokenizer,
                    const std::function<void(const std::string&)>& warn);

// The code of the most probable language. log_probs: of the model's languages, in their order.
std::string_view most_probable_language(std::span<const float> log_probs);

}  // namespace sotto
