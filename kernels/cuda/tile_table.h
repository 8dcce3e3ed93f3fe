// Which tiles the encoder's products and its attention run with, for a chip, a width and a number of windows at once.
#pragma once

namespace sotto::cuda {

struct EncoderTiles {
  int sms, width, windows;  // the key; windows: the number from which the row holds
  int conv1, x, qkv, fc1;   // of kTiles; x: conv2, out and fc2, which are all [windows * 1504][width]
  int queries;              // of one block of attention
};

// The row of the table whose chip is nearest in the number of its SMs. width: one of the five.
const EncoderTiles& encoder_tiles(int sms, int width, int windows);

}  // namespace sotto::cuda
