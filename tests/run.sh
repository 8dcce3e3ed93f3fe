#!/bin/bash
# Runs every test, on a machine that need have nothing: set-up, Release build, weights, then ctest.
#   tests/run.sh [--full] [ARGUMENTS FOR CTEST…]     --full: also the long sets (label "full")
set -euo pipefail
cd "$(dirname "$0")/.."
full=0
if [ "${1:-}" = --full ]; then full=1; shift; fi
.ci/setup --tests
build/release/sotto models fetch base tiny.en vad
labels=(-LE full)
if [ $full = 1 ]; then labels=(); fi
exec ctest --test-dir build/release --output-on-failure "${labels[@]}" "$@"
