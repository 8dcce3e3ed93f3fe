#include "src/decode_window.h"

#include <span>

#include "models/utf8.h"
#include "src/suppress.h"

namespace sotto {

WindowDecoder::WindowDecoder(Network& network, const Tokenizer& tokenizer, const TranscribeOptions& options,
                             std::function<bool()> stopped)
    : network_(network),
      tokenizer_(tokenizer),
      options_(options),
      stopped_(std::move(stopped)),
      suppress_(suppressed_tokens(options.sampling.suppress_tokens, tokenizer)) {}

std::optional<Decoded> WindowDecoder::decode(int slot, const std::vector<int>& prompt, int64_t seek) {
  std::optional<Decoded> decoded;
  int attempt_number = 0;
  for (const double temperature : options_.sampling.temperatures) {
    const uint64_t key = sample_key(options_.sampling.seed, seek, attempt_number++);
    decoded = attempt(slot, prompt, settings(temperature, key));
    if (!decoded) return std::nullopt;
    decoded->temperature = temperature;
    if (!needs_fallback(*decoded, options_.thresholds)) break;
  }
  return decoded;
}

// Beams at temperature 0, independent samples above it.
Settings WindowDecoder::settings(double temperature, uint64_t key) const {
  Settings settings;
  settings.temperature = static_cast<float>(temperature);
  if (temperature > 0) {
    settings.rows = options_.sampling.best_of;
    settings.sample_key = key;
  } else {
    settings.rows = options_.sampling.beam_size;
    settings.patience = static_cast<float>(options_.sampling.patience);
  }
  settings.suppress = suppress_;
  return settings;
}

std::optional<Decoded> WindowDecoder::attempt(int slot, const std::vector<int>& prompt, const Settings& settings) {
  const Beginning beginning = network_.begin({&slot, 1}, {&prompt, 1}, {&settings, 1}).front();
  while (!network_.step().empty())
    if (stopped_()) {
      network_.stop(slot);
      return std::nullopt;
    }

  const std::vector<Hypothesis> hypotheses = network_.hypotheses(slot);
  const Hypothesis& best = best_hypothesis(hypotheses, options_.sampling.length_penalty);
  Decoded decoded;
  decoded.tokens = best.tokens;
  const std::string text = tokenizer_.decode(best.tokens);
  decoded.text = strip(text);
  decoded.avg_log_prob = best.sum_log_prob / static_cast<double>(best.tokens.size() + 1);
  decoded.compression_ratio = compression_ratio(decoded.text);
  decoded.no_speech_prob = beginning.no_speech_prob;
  return decoded;
}

}  // namespace sotto
