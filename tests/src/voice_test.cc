#include "src/voice.h"

#include <doctest/doctest.h>

#include <vector>

using sotto::holds_voice;
using Probabilities = std::vector<float>;

TEST_CASE("a voice is three sure chunks in a row") {
  CHECK(holds_voice(Probabilities{0.1f, 0.9f, 0.5f, 0.9f, 0.1f}, 0.5f));
  CHECK(!holds_voice(Probabilities{0.9f, 0.9f, 0.49f, 0.9f, 0.9f}, 0.5f));
  CHECK(!holds_voice(Probabilities(1000, 0.4f), 0.5f));
}

TEST_CASE("a window of less than three chunks must be all voice, and one of none has none") {
  CHECK(holds_voice(Probabilities{0.7f}, 0.5f));
  CHECK(holds_voice(Probabilities{0.7f, 0.6f}, 0.5f));
  CHECK(!holds_voice(Probabilities{0.7f, 0.2f}, 0.5f));
  CHECK(!holds_voice(Probabilities{}, 0.5f));
}
