// A file decoded in windows that don't know each other, side by side: as many as the network has slots, each of which
// takes the next window when it has finished one. What a window says doesn't depend on its company.
#pragma once

#include "src/job.h"

namespace sotto {

// Windows to decode side by side, 1 to 8: as many as an eighth of the memory holds, with max_rows beams or samples each.
int windows_that_fit(const Dims& dims, int max_rows, int64_t memory_bytes);

void transcribe_in_batches(Job& job);

}  // namespace sotto
