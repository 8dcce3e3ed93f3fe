#include "src/prompt.h"

#include <algorithm>
#include <utility>

#include "models/error.h"
#include "models/utf8.h"

namespace sotto {
namespace {

std::span<const int> tail(std::span<const int> tokens, size_t at_most) {
  return tokens.last(std::min(tokens.size(), at_most));
}

}  // namespace

PromptTexts prompt_texts(const Tokenizer& tokenizer, const PromptOptions& options,
                         const std::function<void(const std::string&)>& warn) {
  const auto tokens = [&](const std::string& text, const char* what, size_t at_most) {
    const std::vector<int> all = tokenizer.encode(std::string(" ").append(strip(text)));
    const auto kept = tail(all, at_most);
    if (kept.size() < all.size())
      warn(std::string(what) + std::to_string(all.size()) + " tokens long, only the last " + std::to_string(at_most) +
           " are used");
    return std::vector<int>(kept.begin(), kept.end());
  };
  PromptTexts texts;
  if (!strip(options.hotwords).empty()) texts.hotwords = tokens(options.hotwords, "the hotwords are ", kHotwordLimit);
  if (options.initial)
    texts.initial = tokens(*options.initial, "the initial prompt is ", kPromptLimit - texts.hotwords.size());
  return texts;
}

PromptHistory::PromptHistory(PromptTexts texts, bool carry) : carried_(std::move(texts.hotwords)) {
  if (carry)
    carried_.insert(carried_.end(), texts.initial.begin(), texts.initial.end());
  else
    said_ = std::move(texts.initial);  // it is spoken of once, as if it had been said before the first window
  CHECK_INVARIANT(carried_.size() <= kPromptLimit);
}

std::vector<int> PromptHistory::tokens() const {
  const auto recent = tail(said_, kPromptLimit - carried_.size());
  std::vector<int> tokens = carried_;
  tokens.insert(tokens.end(), recent.begin(), recent.end());
  return tokens;
}

void PromptHistory::append(std::span<const int> said) {
  said_.insert(said_.end(), said.begin(), said.end());
  const auto rest = tail(said_, kPromptLimit);
  said_.erase(said_.begin(), said_.end() - rest.size());
}

void PromptHistory::forget() { said_.clear(); }

std::vector<int> whole_prompt(std::span<const int> history, const SpecialTokens& special, int language_token,
                              bool translate) {
  std::vector<int> prompt;
  if (!history.empty()) {
    prompt.push_back(special.sot_prev);
    const auto recent = tail(history, kPromptLimit);
    prompt.insert(prompt.end(), recent.begin(), recent.end());
  }
  prompt.push_back(special.sot);
  if (language_token >= 0) {
    prompt.push_back(language_token);
    prompt.push_back(translate ? special.translate : special.transcribe);
  }
  return prompt;
}

}  // namespace sotto
