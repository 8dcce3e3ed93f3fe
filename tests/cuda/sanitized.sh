#!/bin/bash
# The CUDA kernels' tests under ThreadSanitizer and AddressSanitizer, and without each barrier in turn.
#   sanitized.sh BUILD-DIRECTORY [--quick]     --quick: small cases under the first, and a sample of the barriers
set -euo pipefail
build=$1
if [ "${2:-}" = --quick ]; then
  cmake --build "$build" --target tests_cuda_tsan
  small='mel operand:*,layer norm:*,self attention:*,raw logits:*,twins:*'
  small+=',small products: queries*,cross attention: rows*,the end of a step: beams*'
  "$build/tests_cuda_tsan" "-tc=$small"
  exec python3 tests/simt/mutate.py "$build" --sample
fi
cmake --build "$build" --target tests_cuda_tsan tests_cuda_asan
"$build/tests_cuda_tsan" "-tce=full:*,cuda network:*,roofline:*"
"$build/tests_cuda_asan" "-tce=full:*,cuda network:*,roofline:*"
python3 tests/simt/mutate.py "$build" "*"
