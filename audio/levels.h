// How loud a channel of decoded sound is, in any sample format.
#pragma once

#include <cstdint>
#include <vector>

#include "audio/av.h"

namespace sotto {

// Channel c of the frame from sample `first` on, as floats; false for a sample format without numbers.
bool read_channel(const AVFrame& frame, int c, int64_t first, std::vector<float>& out);

// Energy of the second differences: as loudness, but deaf to offsets, hum and the rumble of an LFE channel, which would
// win against any speech.
double bend_energy(const std::vector<float>& samples);

}  // namespace sotto
