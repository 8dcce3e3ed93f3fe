// When each token is spoken, from the attention that a decoder pays to the sound: dynamic time warping over the
// cross-attention of the alignment heads. Source: openai/whisper timing.py; for the warping itself Sakoe and Chiba,
// "Dynamic programming algorithm optimization for spoken word recognition" (1978).
#pragma once

#include <span>
#include <vector>

#include "kernels/network.h"

namespace sotto {

// How much the tokens [first, last) attend to each frame, compared to all tokens of the alignment: [last - first]
// [n_frames]. For each head a softmax over the frames, standardised over the tokens, then smoothed by a median of 7
// frames; the mean of the heads.
std::vector<float> relative_attention(const Alignment& alignment, int first, int last);

// The monotone path through gains[n_rows][n_columns], from the first to the last row and column, that collects the most
// by steps to the next row, the next column, or both: for each row the first column on it. Where both of the ways that
// come from the row before are equally good, the path goes on along the row, as the reference's does.
std::vector<int> warp(std::span<const float> gains, int n_rows, int n_columns);

// Seconds from the window's beginning at which the alignment's tokens from `first` + 1 on begin, as far as they come
// before the last one, which is end-of-transcript; then the one at which the last of them ends. `first` is the token
// before the text: a decoder looks at a word while it sits on the token before it.
std::vector<double> token_times_s(const Alignment& alignment, int first);

}  // namespace sotto
