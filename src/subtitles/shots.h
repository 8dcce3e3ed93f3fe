// When the picture of a video changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sotto {

// Times in a file, one on each line, in seconds or with colons ("83.4", "00:01:23.400"); what follows a time on its
// line, blank lines and lines that begin with '#' don't count. Ascending. Throws Error.
std::vector<int64_t> read_cuts_ms(const std::string& path);

// Cuts of a video's best picture track on the clock of its sound, ascending: where the brightness of a picture changes
// suddenly. All frames are decoded, which takes longer than their sound does. Throws Error for a file without a moving
// picture. stop: once true, ends with what was found.
std::vector<int64_t> find_cuts_ms(const std::string& path, const std::atomic<bool>& stop);

}  // namespace sotto
