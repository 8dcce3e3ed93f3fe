// Times of text, moved to where the voice begins and ends: attention says which word is spoken, voice activity when.
#pragma once

#include <span>
#include <vector>

#include "audio/speech_finder.h"
#include "src/transcript.h"

namespace sotto {

// Moves the beginnings and ends of words, and of segments, that lie in silence to the edge of the speech they overlap. A
// word that lies across a silence keeps the side on which most of it is; one that lies in silence altogether stays.
// speech: in samples, in order.
void snap_to_speech(std::vector<Segment>& segments, std::span<const Speech> speech);

}  // namespace sotto
