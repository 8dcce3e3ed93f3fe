// Whether a recording keeps its speakers on channels of their own.
#pragma once

#include <string>

#include "audio/decode.h"

namespace sotto {

// How many channels a file's sound has; 1, too, if they all hold the same. Reads the stretch that is wanted until two
// are seen to differ. Throws Error where Decoder does.
int separate_channels(const std::string& path, const DecodeOptions& options);

}  // namespace sotto
