// What every Whisper has in common, as constants, and the few numbers in which the sizes differ.
#pragma once

#include <cstdint>

namespace sotto {

constexpr int kSampleRate = 16000;
constexpr int kMelWindow = 400;      // samples under one Hann window, also the length of the DFT
constexpr int kMelHop = 160;         // samples between frames: 100 frames a second
constexpr int kMelFrames = 3000;     // frames in one 30 s window
constexpr int kAudioContext = 1500;  // encoder positions in one window, 20 ms each
constexpr int kTextContext = 448;    // decoder positions: prompt and sampled tokens together
constexpr int kHead = 64;            // values in one attention head, in every size
constexpr int kTimestamps = 1501;    // timestamp tokens: 0.00 s, 0.02 s ... 30.00 s
constexpr int kSampleLimit = kTextContext / 2;  // tokens sampled for one window at most

struct Dims {
  int width;           // of encoder and decoder; the feed-forward layers are 4 * width wide
  int heads;           // width / kHead
  int encoder_layers;
  int decoder_layers;
  int mel_bins;        // 80 or 128
  int vocabulary;      // 51864 (English only), 51865, 51866 (one language more)

  bool operator==(const Dims&) const = default;
  bool multilingual() const { return vocabulary >= 51865; }
};

// Where the special tokens stand: after the text tokens, in the same order in all three vocabularies.
struct SpecialTokens {
  int eot;  // end of transcript; every token below it is text
  int sot;  // start of transcript
  int first_language;
  int n_languages;
  int translate, transcribe, sot_lm, sot_prev, no_speech, no_timestamps;
  int first_timestamp;  // <|0.00|>
};

constexpr SpecialTokens special_tokens(int vocabulary) {
  const int eot = vocabulary >= 51865 ? 50257 : 50256;
  const int n_languages = vocabulary - kTimestamps - eot - 8;
  const int after = eot + 2 + n_languages;
  return {eot, eot + 1, eot + 2, n_languages, after, after + 1, after + 2, after + 3, after + 4, after + 5, after + 6};
}
static_assert(special_tokens(51864).n_languages == 99 && special_tokens(51864).first_timestamp == 50363);
static_assert(special_tokens(51865).n_languages == 99 && special_tokens(51865).first_timestamp == 50364);
static_assert(special_tokens(51866).n_languages == 100 && special_tokens(51866).first_timestamp == 50365);

}  // namespace sotto
