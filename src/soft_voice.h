// Speech too soft for the network, which goes by loudness too: of a voice 40 dB below another it hears next to nothing. A
// second look at what seems silent, brought to the level of common speech first.
#pragma once

#include <span>
#include <vector>

#include "audio/speech_finder.h"
#include "audio/vad.h"

namespace sotto {

// The speech in a stretch of sound, in samples of it, that is soft but stands out from the noise around it. None in what
// is loud enough to have been heard at the first look, and in what is evenly loud. lead: as many chunks at its beginning
// are for the network to get used to the sound, and no speech is told there.
std::vector<Speech> soft_speech(const Vad& vad, std::span<const float> sound, int lead, const VadSettings& settings);

}  // namespace sotto
