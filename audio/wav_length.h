// How long a WAV file says it is: libav only tells how long it can be, by the bytes that are there.
#pragma once

#include <optional>
#include <string>

namespace sotto {

// Seconds by the "fmt " and "data" chunks of a RIFF WAVE file; nothing if it says none (as a stream's header does).
std::optional<double> wav_length_s(const std::string& path);

}  // namespace sotto
