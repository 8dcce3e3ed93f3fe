// sotto transcribe FILE…
#pragma once

#include "src/cli/arguments.h"

namespace sotto {

// Transcribes all files and writes what was asked for. Exit status: 0, 1 if a file failed, 130 after Ctrl-C. Throws
// Error for what concerns all files: the model, the folder to write to, the formats.
int transcribe_command(const Arguments& arguments);

}  // namespace sotto
