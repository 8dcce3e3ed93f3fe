// Words of segments: when each one is spoken, how sure the model is of it, and what follows from that for the segments'
// own times. Source: openai/whisper timing.py.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/network.h"
#include "models/tokenizer.h"
#include "src/options.h"
#include "src/transcript.h"

namespace sotto {

// The heads whose attention words are timed by. In models with up to 24 heads in the upper half of the decoder these all,
// which is the reference's choice for weights without a name: of 115 words they miss the onset by 0.10 s on average, both
// in tiny.en and in base, where the weights' own alignment heads miss it by 0.13 and 0.14 s. In larger models, where
// they would take too long, the weights' own.
std::vector<std::pair<int, int>> timing_heads(const Weights& weights);

// Of the text tokens of one window, timestamps left out.
struct TextTimes {
  std::vector<double> starts_s;  // [n + 1], from the window's beginning; the last one is the end of the last token
  std::vector<float> probs;      // [n]
};

// Feeds the text of a window's segments to the slot that holds the window once more, and reads the times off the
// attention. n_frames: mel frames in use. language: token; -1: none (English-only model). Drops the slot's rows.
TextTimes time_text(Network& network, int slot, int n_frames, std::span<const Segment> segments, int language,
                    bool translate);

// Gives the segments of one window their words, and moves the segments' times to them: the text of each segment is that
// of its words. Words at the end of a sentence and after a pause, which take in the silence, are cut to twice the length
// that words have in this window. written_language: code of the language the text is in, which for a translation is
// English. last_speech_s: where the last word before this window ends.
void add_words(std::span<Segment> segments, const TextTimes& times, const Tokenizer& tokenizer,
               std::string_view written_language, const WordOptions& options, double last_speech_s);

// Where the last word of some segments ends; without words, the last segment.
double last_word_end_s(std::span<const Segment> segments);

}  // namespace sotto
