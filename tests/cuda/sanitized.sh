#!/bin/bash
# The CUDA kernels' tests under ThreadSanitizer and AddressSanitizer, and without each barrier in turn.
#   sanitized.sh BUILD-DIRECTORY
set -euo pipefail
build=$1
cmake --build "$build" --target tests_cuda_tsan tests_cuda_asan
"$build/tests_cuda_tsan" "-tce=full:*,cuda network:*"
"$build/tests_cuda_asan" "-tce=full:*,cuda network:*"
python3 tests/simt/mutate.py "$build" "*"
