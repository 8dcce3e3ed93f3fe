// Sound small enough to send.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "audio/pcm.h"

namespace sotto {

inline constexpr std::string_view kOpusType = "audio/webm; codecs=opus";

// Opus in WebM at 24 kbit/s. read gives stretches that join; false is the end. Throws Error where libav can't.
std::string encode_opus(const std::function<bool(Pcm&)>& read);

}  // namespace sotto
