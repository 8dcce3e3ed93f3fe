#include "src/cli/interrupt.h"

#include <csignal>

namespace sotto {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

void catch_interrupts() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace sotto
