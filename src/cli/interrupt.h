// Ctrl-C, for commands that end in good order and write what they have.
#pragma once

#include <atomic>

namespace sotto {

extern std::atomic<bool> interrupted;  // from the first Ctrl-C on

// The first Ctrl-C sets `interrupted`, the second one ends the program at once. Who started the program deaf to Ctrl-C, as a
// shell's & and nohup do, wants it to stay so. Calls that wait go on behind it.
void catch_interrupts();

}  // namespace sotto
