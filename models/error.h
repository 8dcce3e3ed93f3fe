// How things go wrong. What a user can cause is an Error: one sentence that says what is wrong with what and what to
// do about it. What only a programmer can cause is a broken CHECK, which aborts with its place.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sotto {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void broken_invariant(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, what);
  std::abort();
}

}  // namespace sotto

#define CHECK_INVARIANT(condition) \
  ((condition) ? void(0) : ::sotto::broken_invariant(__FILE__, __LINE__, #condition))
