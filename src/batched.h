// A file decoded in windows that don't know each other, side by side: as many as the network has slots, each of which
// takes the next window when it has finished one. What a window says doesn't depend on its company.
#pragma once

#include "src/job.h"

namespace sotto {

void transcribe_in_batches(Job& job);

}  // namespace sotto
