// A transcript as one page of HTML: waveform, words to click on, how sure each is, coverage, search. It needs nothing
// beside it but a browser, and, where the sound is linked, the sound.
#pragma once

#include <string>

#include "src/transcript.h"

namespace sotto {

struct ViewSound {
  std::string peaks;          // one byte for each stretch of the sound: the largest sample in it, 0 to 255
  std::string encoded, type;  // the sound in the page, and its MIME type; empty: linked
  std::string link;           // its address, relative to the page or not
  double duration_s = 0;
};

// One peak for each 20 ms. with_sound: as Opus, 24 kbit/s, for the page to hold. Throws Error.
ViewSound listen(const std::string& path, bool with_sound);

std::string view_page(const Transcript& transcript, const ViewSound& sound);

// A path as an address for `ViewSound::link`, seen from a page in a folder: "talk 1.mp3" is "talk%201.mp3".
std::string link_to(const std::string& path, const std::string& folder_of_page);

}  // namespace sotto
