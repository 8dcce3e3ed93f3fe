// Prints how near to each other two tokens were that might follow in one window; golden_check.py asks it.
//
// usage: golden_gap MODEL AUDIO SEEK LANGUAGE HISTORY SAMPLED ONE OTHER
//   SEEK: the window's first frame; LANGUAGE: its code; HISTORY: tokens of the text before the window, and SAMPLED:
//   those of the window before the two, with commas between them, or "-"; ONE, OTHER: the two tokens.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "audio/decode.h"
#include "audio/features.h"
#include "near_tie.h"
#include "src/prompt.h"
#include "src/suppress.h"
#include "src/transcribe.h"

namespace {

std::vector<int> tokens_of(const std::string& list) {
  std::vector<int> tokens;
  if (list == "-") return tokens;
  std::stringstream stream(list);
  for (std::string token; std::getline(stream, token, ',');) tokens.push_back(std::stoi(token));
  return tokens;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 9) {
    std::fputs("usage: golden_gap MODEL AUDIO SEEK LANGUAGE HISTORY SAMPLED ONE OTHER\n", stderr);
    return 2;
  }
  sotto::Engine engine = sotto::open_engine(argv[1], {});
  sotto::Decoder decoder(argv[2], {});
  sotto::Features features(decoder, engine.weights->dims.mel_bins);
  const int64_t seek = std::atoll(argv[3]);
  sotto::Mel mel;
  features.window(seek, features.available(seek, sotto::kMelFrames), mel);
  const float* values = mel.values.data();
  const int slot = 0;
  engine.network->encode({&values, 1}, {&slot, 1});

  const auto prompt = sotto::whole_prompt(tokens_of(argv[5]), engine.tokenizer.special(),
                                          engine.tokenizer.language_token(argv[4]), false);
  const double gap = gap_between(*engine.network, slot, prompt, tokens_of(argv[6]), std::atoi(argv[7]),
                                 std::atoi(argv[8]), *sotto::suppressed_tokens("-1", engine.tokenizer));
  std::printf("%.6f\n", gap);
} catch (const std::exception& error) {
  std::fprintf(stderr, "golden_gap: %s\n", error.what());
  return 1;
}
