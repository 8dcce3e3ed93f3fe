// One encoded window to the tokens that are taken for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/network.h"
#include "models/tokenizer.h"
#include "src/fallback.h"
#include "src/options.h"

namespace sotto {

class WindowDecoder {
 public:
  // stopped: asked between steps; true gives up the window. Throws Error for tokens to suppress that aren't any.
  WindowDecoder(Network& network, const Tokenizer& tokenizer, const TranscribeOptions& options,
                std::function<bool()> stopped);

  // Decodes what a slot holds at rising temperatures until the result is good; the last one is taken as it is.
  // seek: the window's first frame. None if it was stopped.
  std::optional<Decoded> decode(int slot, const std::vector<int>& prompt, int64_t seek);

 private:
  Settings settings(double temperature, uint64_t key) const;
  std::optional<Decoded> attempt(int slot, const std::vector<int>& prompt, const Settings& settings);

  Network& network_;
  const Tokenizer& tokenizer_;
  const TranscribeOptions& options_;
  std::function<bool()> stopped_;
  std::shared_ptr<const TokenSet> suppress_;
};

}  // namespace sotto
