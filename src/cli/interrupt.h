// Ctrl-C, for commands that end in good order and write what they have.
#pragma once

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace sotto {

extern std::atomic<bool> interrupted;  // from the first signal on

// The first of these signals, Ctrl-C (SIGINT) among them, sets `interrupted`; the same once more ends the program at once.
// Who started the program deaf to one, as a shell's & and nohup do, wants it to stay so. Calls that wait go on behind it.
void catch_interrupts(std::initializer_list<int> signals = {SIGINT});

}  // namespace sotto
