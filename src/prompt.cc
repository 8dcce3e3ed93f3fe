#include "src/prompt.h"

#include <algorithm>

namespace sotto {
namespace {

std::span<const int> tail(std::span<const int> tokens, size_t at_most) {
  return tokens.last(std::min(tokens.size(), at_most));
}

}  // namespace

PromptHistory::PromptHistory(std::vector<int> initial, bool carry) : carry_(carry) {
  if (carry)
    initial_ = std::move(initial);
  else
    said_ = std::move(initial);  // it is spoken of once, as if it had been said before the first window
}

std::vector<int> PromptHistory::tokens() const {
  const auto carried = tail(initial_, kPromptLimit);
  const auto recent = tail(said_, kPromptLimit - carried.size());
  std::vector<int> tokens(carried.begin(), carried.end());
  tokens.insert(tokens.end(), recent.begin(), recent.end());
  return tokens;
}

std::vector<int> PromptHistory::carried() const {
  const auto carried = tail(initial_, kPromptLimit);
  return {carried.begin(), carried.end()};
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
