// The reference's way through a file: window after window, each beginning where the text of the last one ends and knowing
// that text. Source: openai/whisper transcribe.py.
#pragma once

#include "src/job.h"

namespace sotto {

void transcribe_sequentially(Job& job);

}  // namespace sotto
